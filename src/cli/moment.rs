//! Instants on the command line.

use std::time::Duration;

use sqlx::PgConnection;

use crate::domain::Timestamp;
use crate::messages::parse_instant;
use crate::store::{StoreError, clock};

/// An instant, or how long ago it is by the database's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// RFC 3339.
    At(Timestamp),
    /// `90s`, `15m`, `2h`, `3d`.
    Ago(Duration),
}

/// Reads a moment, for clap.
pub fn parse(text: &str) -> Result<Moment, String> {
    let ago = || {
        let (number, seconds) = [("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400)]
            .into_iter()
            .find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)))?;
        let span = number.parse::<u32>().ok()?.checked_mul(seconds)?;
        Some(Moment::Ago(Duration::from_secs(span.into())))
    };
    let instant = parse_instant(text).map(Moment::At);
    instant
        .or_else(ago)
        .ok_or_else(|| "neither RFC 3339, such as 2027-01-01T10:00:00Z, nor a span such as 2h".to_owned())
}

impl Moment {
    /// The instant it is.
    pub async fn instant(self, connection: &mut PgConnection) -> Result<Timestamp, StoreError> {
        Ok(match self {
            Self::At(instant) => instant,
            Self::Ago(span) => clock::now(connection).await? - span,
        })
    }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn a_moment_is_an_instant_or_a_span() {
        let seconds = |seconds| Ok(Moment::Ago(Duration::from_secs(seconds)));
        assert_eq!(parse("90s"), seconds(90));
        assert_eq!(parse("15m"), seconds(900));
        assert_eq!(parse("2h"), seconds(7_200));
        assert_eq!(parse("3d"), seconds(259_200));
        assert_eq!(parse("2027-01-01T10:00:00+01:00"), Ok(Moment::At(datetime!(2027-01-01 9:00 UTC))));
        for text in ["", "s", "-1h", "1w", "1 h", "2027-01-01", "4294967295d"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
