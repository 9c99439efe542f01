//! `lastunit export desired --channel C [--format csv|xlsx] [--out FILE]`.

use std::io::{self, BufWriter};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use sqlx::PgConnection;

use super::export::unwritten;
use super::{Stop, channels, database, print};
use crate::config::Settings;
use crate::export::{ExportError, Format, Shown, Whole, write_desired};

/// Of which channel, and where to.
#[derive(Debug, Args)]
pub struct Desired {
    /// The channel, which must stand in the settings.
    #[arg(long, value_name = "CHANNEL")]
    channel: String,
    /// What kind of file.
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    format: Format,
    /// The file, written whole or not at all; without it, standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Desired {
    /// The channel that is meant.
    pub(super) fn channel(&self) -> &str {
        &self.channel
    }

    /// Writes the file, out of the snapshot.
    pub(super) async fn write(&self, settings: &Settings, snapshot: &mut PgConnection) -> Result<(), Stop> {
        let shown = Shown { channel: &self.channel, settings: channels::named(settings, &self.channel)? };
        let Some(path) = &self.out else {
            let written = write_desired(snapshot, shown, self.format, BufWriter::new(io::stdout())).await;
            return written.map(drop).map_err(|error| match error {
                ExportError::Store(error) => database::stop(error),
                ExportError::Write(error) => Stop::Failed(print::unprinted(error)),
            });
        };
        let mut whole = Whole::begin(path).with_context(|| path.display().to_string()).map_err(Stop::Misuse)?;
        let written = write_desired(snapshot, shown, self.format, whole.writer()).await;
        let rows = written.map_err(|error| match error {
            ExportError::Store(error) => database::stop(error),
            ExportError::Write(error) => unwritten(error, path),
        })?;
        whole.finish().map_err(|error| unwritten(error, path))?;
        Ok(print::line(format!("{}: {rows} rows", path.display()))?)
    }
}
