//! What the broker has otherwise than the files say, and making it the same.

use std::time::Duration;

use async_nats::jetstream::{self, Context, ErrorCode};
use serde::Serialize;

use super::compare::{Difference, FieldDifference, Nature, Object, State, changed, compare};
use super::wire::{Wanted, list};
use super::{Topology, TopologyError, resume, subject};
use crate::broker::outlast_election;

/// How often the work is begun again because another program changed the same objects meanwhile.
const ROUNDS: u32 = 5;

/// A change that was made.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// `ORDERS`, or `ORDERS/lastunit-orders`.
    pub id: String,
    /// Stream or consumer.
    pub kind: Object,
    /// Made, or changed.
    pub action: Action,
    /// What was changed; empty for what was made.
    pub fields: Vec<FieldDifference>,
}

/// What was done to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It was not there.
    Created,
    /// It was otherwise.
    Updated,
}

/// What becomes of differences that lose messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shrinking {
    Refused,
    Left,
    Allowed,
}

impl Topology {
    /// What the broker has otherwise than the files say; empty where all is the same. A cluster that is electing is asked again, for a time.
    ///
    /// # Errors
    ///
    /// [`TopologyError::Unreachable`], [`TopologyError::Refused`].
    pub async fn diff(&self, js: &Context) -> Result<Vec<Difference>, TopologyError> {
        let is_no_answer = |error: &TopologyError| matches!(error, TopologyError::Unreachable(_));
        outlast_election(is_no_answer, || self.differences(js)).await
    }

    async fn differences(&self, js: &Context) -> Result<Vec<Difference>, TopologyError> {
        let mut differences = Vec::new();
        for wanted in self.wanted() {
            let state = match wanted.look(js).await? {
                None => State::Missing,
                Some(have) => {
                    let fields = compare(wanted.fields(), wanted.config(), &have);
                    if fields.is_empty() {
                        continue;
                    }
                    State::Differs { fields }
                }
            };
            differences.push(Difference { id: wanted.id(), kind: wanted.kind(), state });
        }
        self.mark_overlaps(js, &mut differences).await?;
        Ok(differences)
    }

    /// Makes the broker's streams and consumers what the files say. Everything is judged first, and nothing is changed where
    /// anything is refused. Applying twice, or from two programs at once, does no harm. Each change is logged before it is made.
    ///
    /// # Errors
    ///
    /// [`TopologyError::Shaped`] where another program's stream is in the way, [`TopologyError::Shrinks`] where messages could be lost and that
    /// was not allowed, [`TopologyError::Ignored`] where the server is too old, [`TopologyError::Refused`], [`TopologyError::Unreachable`].
    pub async fn apply(&self, js: &Context, allow_shrink: bool) -> Result<Vec<Change>, TopologyError> {
        let shrinking = if allow_shrink { Shrinking::Allowed } else { Shrinking::Refused };
        self.bring(js, shrinking).await
    }

    /// As [`Topology::apply`] for a program that must not stop over it: a stream that has more room, age or subjects than its file says keeps them,
    /// with a warning.
    ///
    /// # Errors
    ///
    /// As [`Topology::apply`], without [`TopologyError::Shrinks`].
    pub async fn ensure(&self, js: &Context) -> Result<Vec<Change>, TopologyError> {
        self.bring(js, Shrinking::Left).await
    }

    /// Whether any stream or consumer is not there. Cheap enough to be asked every few seconds.
    ///
    /// # Errors
    ///
    /// [`TopologyError::Unreachable`], [`TopologyError::Refused`].
    pub async fn missing(&self, js: &Context) -> Result<bool, TopologyError> {
        for wanted in self.wanted() {
            if wanted.look(js).await?.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn wanted(&self) -> impl Iterator<Item = Wanted<'_>> {
        let streams = self.streams.iter().map(Wanted::Stream);
        streams.chain(self.consumers.iter().map(Wanted::Consumer))
    }

    async fn bring(&self, js: &Context, shrinking: Shrinking) -> Result<Vec<Change>, TopologyError> {
        let mut made = Vec::new();
        let mut ignored = None;
        for round in 0..ROUNDS {
            let differences = self.diff(js).await?;
            refuse(&differences, shrinking)?;
            match self.change(js, &differences, shrinking, &mut made).await {
                Ok(true) => return Ok(made),
                Ok(false) => {}
                // Also what a server answers while another copy changes the same.
                Err(error @ TopologyError::Ignored { .. }) => ignored = Some(error),
                Err(error) => return Err(error),
            }
            // Another copy is at the same: let it finish.
            let pause = 50 * u64::from(round + 1) + fastrand::u64(..100);
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        let busy = || vec!["another program keeps changing the same streams".to_owned()];
        Err(ignored.unwrap_or_else(|| TopologyError::Shaped(busy())))
    }

    /// Makes the changes that `differences` ask for. False where another program came between and they must be looked at again.
    async fn change(
        &self,
        js: &Context,
        differences: &[Difference],
        shrinking: Shrinking,
        made: &mut Vec<Change>,
    ) -> Result<bool, TopologyError> {
        for wanted in self.wanted() {
            let Some(difference) = differences.iter().find(|one| one.id == wanted.id()) else {
                continue;
            };
            let change = match &difference.state {
                State::Missing => create(js, self, wanted).await,
                State::Differs { fields } => update(js, wanted, fields, shrinking).await,
                State::Overlaps { .. } => continue,
            };
            match change {
                Ok(change) => made.extend(change),
                Err(TopologyError::Refused { error, .. }) if came_between(&error) => {
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Finds the streams that would be refused because another stream binds their subjects, before anything is changed.
    async fn mark_overlaps(&self, js: &Context, differences: &mut [Difference]) -> Result<(), TopologyError> {
        let binds = |difference: &Difference| {
            let gains = || difference.fields().iter().any(|field| field.field == "subjects");
            difference.state == State::Missing || gains()
        };
        let ours = |id: &str| self.streams.iter().find(|stream| stream.name == id);
        if !differences.iter().any(|one| one.kind == Object::Stream && binds(one)) {
            return Ok(());
        }
        let others = list(js).await?;
        let others = others.iter().filter(|(name, _)| ours(name).is_none());
        for difference in differences.iter_mut().filter(|one| binds(one)) {
            let Some(stream) = ours(&difference.id) else {
                continue;
            };
            let collision = others.clone().find_map(|(name, bound)| {
                let overlaps = |one: &&String| bound.iter().any(|other| subject::overlap(one, other));
                let subject = stream.subjects.iter().find(overlaps)?;
                Some((subject.clone(), name.clone()))
            });
            if let Some((subject, by)) = collision {
                difference.state = State::Overlaps { subject, by };
            }
        }
        Ok(())
    }
}

/// Says no before anything is changed.
fn refuse(differences: &[Difference], shrinking: Shrinking) -> Result<(), TopologyError> {
    TopologyError::shaped(differences).map_or(Ok(()), Err)?;
    let shrinks = sentences(differences, Nature::Shrinks);
    if shrinks.is_empty() || shrinking == Shrinking::Allowed {
        return Ok(());
    }
    if shrinking == Shrinking::Refused {
        return Err(TopologyError::Shrinks(shrinks));
    }
    for sentence in shrinks {
        tracing::warn!("left as it is, though its file says less: {sentence}");
    }
    Ok(())
}

impl TopologyError {
    /// What another program shaped otherwise, if anything.
    pub fn shaped(differences: &[Difference]) -> Option<Self> {
        let sentences = foreign(differences);
        (!sentences.is_empty()).then_some(Self::Shaped(sentences))
    }
}

fn foreign(differences: &[Difference]) -> Vec<String> {
    let overlaps = differences.iter().filter_map(|one| match &one.state {
        State::Overlaps { subject, by } => {
            Some(format!("stream {} cannot bind {subject}: stream {by} of another program has it", one.id))
        }
        State::Missing | State::Differs { .. } => None,
    });
    let fixed = sentences(differences, Nature::Fixed)
        .into_iter()
        .map(|said| format!("{said}, and that cannot be changed: another program made it"));
    overlaps.chain(fixed).collect()
}

fn sentences(differences: &[Difference], nature: Nature) -> Vec<String> {
    differences
        .iter()
        .flat_map(|one| {
            let fields = one.fields().iter().filter(move |field| field.nature == nature);
            fields.map(move |field| format!("{} {}: {field}", one.kind, one.id))
        })
        .collect()
}

async fn create(js: &Context, topology: &Topology, wanted: Wanted<'_>) -> Result<Option<Change>, TopologyError> {
    tracing::info!(id = wanted.id(), "creating {}", wanted.kind());
    match wanted {
        Wanted::Stream(stream) => resume::create(js, topology, stream).await?,
        Wanted::Consumer(_) => wanted.write(js, "CREATE", wanted.config()).await?,
    }
    Ok(Some(Change { id: wanted.id(), kind: wanted.kind(), action: Action::Created, fields: Vec::new() }))
}

/// None where nothing is left to change.
async fn update(
    js: &Context,
    wanted: Wanted<'_>,
    fields: &[FieldDifference],
    shrinking: Shrinking,
) -> Result<Option<Change>, TopologyError> {
    // Read again, so that what is not ours to say is sent back as it is now.
    let Some(have) = wanted.look(js).await? else {
        return Ok(None);
    };
    let config = changed(&have, fields, shrinking == Shrinking::Allowed);
    let fields = compare(wanted.fields(), &config, &have);
    if fields.is_empty() {
        return Ok(None);
    }
    for field in &fields {
        tracing::info!(id = wanted.id(), "changing {}: {field}", wanted.kind());
    }
    wanted.write(js, "UPDATE", &config).await?;
    Ok(Some(Change { id: wanted.id(), kind: wanted.kind(), action: Action::Updated, fields }))
}

/// Whether the refusal means that the object appeared or vanished since it was looked at.
fn came_between(error: &jetstream::Error) -> bool {
    [
        ErrorCode::STREAM_NAME_EXIST,
        ErrorCode::STREAM_NOT_FOUND,
        ErrorCode::CONSUMER_NAME_EXIST,
        ErrorCode::CONSUMER_NOT_FOUND,
    ]
    .contains(&error.error_code())
}
