//! Why a message cannot be processed.

/// The words of a dead letter, as the contract has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Not UTF-8, not JSON, nested deeper than 128, a key twice.
    MalformedJson,
    /// JSON of a wrong type or range, or a field missing.
    InvalidField,
    /// No event id in any of its places.
    MissingEventId,
    /// The body names another channel, provider or warehouse than the subject.
    SubjectMismatch,
    /// No such subject in this family.
    UnknownSubject,
    /// A business key that is known, with other content.
    ConflictingDuplicate,
    /// A SKU without a stock row anywhere.
    UnknownSku,
    /// A warehouse without a stock row and in no channel's map.
    UnknownWarehouse,
    /// More is shipped than is outstanding, or of what is not held.
    OverShipment,
    /// More comes back than was shipped and has not come back.
    OverReturn,
    /// More than is outstanding, or of what was not ordered.
    OverCancel,
    /// A message of a provider that signs, without a valid signature of its own time.
    BadSignature,
    /// A body larger than the contract's bound.
    TooLarge,
    /// It failed again and again for a reason of ours; the one that pages somebody.
    Internal,
}

impl Reason {
    const ALL: [Self; 14] = [
        Self::MalformedJson,
        Self::InvalidField,
        Self::MissingEventId,
        Self::SubjectMismatch,
        Self::UnknownSubject,
        Self::ConflictingDuplicate,
        Self::UnknownSku,
        Self::UnknownWarehouse,
        Self::OverShipment,
        Self::OverReturn,
        Self::OverCancel,
        Self::BadSignature,
        Self::TooLarge,
        Self::Internal,
    ];

    /// The reason of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.word() == word)
    }

    /// The word on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::MalformedJson => "malformed_json",
            Self::InvalidField => "invalid_field",
            Self::MissingEventId => "missing_event_id",
            Self::SubjectMismatch => "subject_mismatch",
            Self::UnknownSubject => "unknown_subject",
            Self::ConflictingDuplicate => "conflicting_duplicate",
            Self::UnknownSku => "unknown_sku",
            Self::UnknownWarehouse => "unknown_warehouse",
            Self::OverShipment => "over_shipment",
            Self::OverReturn => "over_return",
            Self::OverCancel => "over_cancel",
            Self::BadSignature => "bad_signature",
            Self::TooLarge => "too_large",
            Self::Internal => "internal",
        }
    }
}

/// A refused message: the word, and a sentence that a person understands, with the field's path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The word.
    pub reason: Reason,
    /// The sentence.
    pub detail: String,
}

impl Refusal {
    /// A refusal with its sentence.
    pub fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self { reason, detail: detail.into() }
    }
}
