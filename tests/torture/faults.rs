//! What can go wrong, and in which order it does.

use std::time::Duration;

use fastrand::Rng;

/// A fault: it begins, lasts, and ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    KillCopy(usize),
    TerminateCopy(usize),
    PauseCopy(usize),
    KillNats,
    StopNats,
    PauseNats,
    CutNats,
    HoldNats,
    SwallowNats,
    KillPostgres,
    StopPostgres,
    PausePostgres,
    CutPostgres,
    HoldPostgres,
    SwallowPostgres,
    CutCommits(usize),
    EndSessions,
    EndTurns,
    LockRow(usize),
    FillStream(usize),
}

/// What a fault befalls: no two at once befall the same.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    Copy(usize),
    Nats,
    Postgres,
    Row,
}

impl Fault {
    fn any(rng: &mut Rng) -> Self {
        let copy = rng.usize(..2);
        match rng.u32(..28) {
            0..4 => Self::KillCopy(copy),
            4..6 => Self::TerminateCopy(copy),
            6..9 => Self::PauseCopy(copy),
            9..11 => Self::KillNats,
            11 => Self::StopNats,
            12 => Self::PauseNats,
            13 => Self::CutNats,
            14 => Self::HoldNats,
            15 => Self::SwallowNats,
            16..18 => Self::KillPostgres,
            18 => Self::StopPostgres,
            19 => Self::PausePostgres,
            20 => Self::CutPostgres,
            21 => Self::HoldPostgres,
            22 => Self::SwallowPostgres,
            23 => Self::CutCommits(rng.usize(1..=4)),
            24 => Self::EndSessions,
            25 => Self::EndTurns,
            26 => Self::LockRow(rng.usize(..8)),
            _ => Self::FillStream(rng.usize(..3)),
        }
    }

    fn target(self) -> Target {
        match self {
            Self::KillCopy(copy) | Self::TerminateCopy(copy) | Self::PauseCopy(copy) => Target::Copy(copy),
            Self::KillNats
            | Self::StopNats
            | Self::PauseNats
            | Self::CutNats
            | Self::HoldNats
            | Self::SwallowNats
            | Self::FillStream(_) => Target::Nats,
            Self::LockRow(_) => Target::Row,
            _ => Target::Postgres,
        }
    }
}

/// A fault, how long it lasts, which other one falls into it, and how long all is well afterwards.
#[derive(Debug, Clone, Copy)]
pub struct Blow {
    pub fault: Fault,
    pub lasts: Duration,
    pub within: Option<Fault>,
    pub pause: Duration,
}

/// An endless sequence of them.
pub struct Blows(Rng);

impl Blows {
    pub fn new(seed: u64) -> Self {
        Self(Rng::with_seed(seed))
    }

    pub fn next(&mut self) -> Blow {
        let rng = &mut self.0;
        let fault = Fault::any(rng);
        let other = Fault::any(rng);
        let together = rng.u32(..3) == 0 && other.target() != fault.target();
        Blow {
            fault,
            lasts: Duration::from_millis(rng.u64(50..2_500)),
            within: together.then_some(other),
            pause: Duration::from_millis(rng.u64(100..1_000)),
        }
    }
}
