//! Whether this copy can do its work, and if not, why.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::sync::Arc;

use tokio::sync::watch;

/// One thing that must be so before work can be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// It is so.
    Ready,
    /// It is not, for this reason.
    Not(Cow<'static, str>),
}

impl Condition {
    /// It is not so, for this reason.
    pub fn not(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Not(reason.into())
    }
}

/// Named conditions and warnings. Clones share them.
#[derive(Debug, Clone)]
pub struct Readiness(Arc<watch::Sender<State>>);

#[derive(Debug, Default)]
struct State {
    conditions: BTreeMap<String, Condition>,
    warnings: BTreeMap<String, String>,
}

impl State {
    fn is_ready(&self) -> bool {
        self.conditions.values().all(|condition| *condition == Condition::Ready)
    }
}

impl Readiness {
    /// Not ready until every one of these has been [`set`](Self::set).
    pub fn awaiting(names: &[&str]) -> Self {
        let starting = |name: &&str| ((*name).to_owned(), Condition::not("starting"));
        Self(Arc::new(watch::Sender::new(State {
            conditions: names.iter().map(starting).collect(),
            warnings: BTreeMap::new(),
        })))
    }

    /// Says how `name` stands now. A change is logged.
    pub fn set(&self, name: &str, condition: Condition) {
        self.0.send_if_modified(|state| {
            if state.conditions.get(name) == Some(&condition) {
                return false;
            }
            match &condition {
                Condition::Ready => tracing::info!("{name}: ready"),
                Condition::Not(reason) => tracing::warn!("{name}: not ready: {reason}"),
            }
            state.conditions.insert(name.to_owned(), condition);
            true
        });
    }

    /// Says what a person should look at although work goes on, or with `None` that it is over. A change is logged.
    pub fn warn(&self, key: &str, warning: Option<String>) {
        self.0.send_if_modified(|state| {
            if state.warnings.get(key) == warning.as_ref() {
                return false;
            }
            if let Some(warning) = warning {
                tracing::warn!("{key}: {warning}");
                state.warnings.insert(key.to_owned(), warning);
            } else {
                tracing::info!("{key}: over");
                state.warnings.remove(key);
            }
            true
        });
    }

    /// Whether every condition is so.
    pub fn is_ready(&self) -> bool {
        self.0.borrow().is_ready()
    }

    /// Waits until every condition is so.
    pub async fn ready(&self) {
        // The sender lives as long as `self`, so that the wait cannot fail.
        let _ = self.0.subscribe().wait_for(State::is_ready).await;
    }

    /// Whether it is ready, and that as text, both of the same instant.
    pub fn report(&self) -> (bool, String) {
        let state = self.0.borrow();
        (state.is_ready(), state.to_string())
    }
}

/// `ready` or `not ready`, then a line a reason and a line a warning.
impl Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", if self.is_ready() { "ready" } else { "not ready" })?;
        for (name, condition) in &self.conditions {
            if let Condition::Not(reason) = condition {
                writeln!(f, "{name}: {reason}")?;
            }
        }
        for (key, warning) in &self.warnings {
            writeln!(f, "warning: {key}: {warning}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn ready_is_when_all_is() {
        let readiness = Readiness::awaiting(&["nats", "postgres"]);
        let shared = readiness.clone();
        let waiting = tokio::spawn(async move { shared.ready().await });
        readiness.set("nats", Condition::Ready);
        readiness.set("postgres", Condition::not("connection refused"));
        let text = "not ready\npostgres: connection refused\n".to_owned();
        assert_eq!(readiness.report(), (false, text));

        readiness.set("postgres", Condition::Ready);
        waiting.await.unwrap();
        assert!(readiness.is_ready());
    }

    #[test]
    fn a_warning_does_not_make_it_unready_and_ends() {
        let readiness = Readiness::awaiting(&[]);
        readiness.warn("ORDERS", Some("its tail was lost".to_owned()));
        let text = "ready\nwarning: ORDERS: its tail was lost\n".to_owned();
        assert_eq!(readiness.report(), (true, text));
        readiness.warn("ORDERS", None);
        assert_eq!(readiness.report(), (true, "ready\n".to_owned()));
    }
}
