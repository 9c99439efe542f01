//! What a person must look at.

use std::collections::{BTreeMap, HashMap, HashSet};

use sqlx::PgConnection;

use super::StoreError;
use crate::domain::{Review, ReviewSubject, Timestamp};
use crate::messages::review_subject;

/// The row of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opened {
    /// Its id.
    pub id: i64,
    /// Whether it was not open before.
    pub new: bool,
}

/// Opens reviews, or finds the row where the same question is open already.
pub async fn open_many(
    connection: &mut PgConnection,
    reviews: &[Review],
    at: Timestamp,
) -> Result<Vec<Opened>, StoreError> {
    if reviews.is_empty() {
        return Ok(Vec::new());
    }
    let mut questions: BTreeMap<(&str, String), &Review> = BTreeMap::new();
    for review in reviews {
        questions.entry(question(review)).or_insert(review);
    }
    let rows: Vec<(i64, String, String, bool)> = sqlx::query_as(include_str!("reviews_open.sql"))
        .bind(questions.keys().map(|(kind, _)| *kind).collect::<Vec<_>>())
        .bind(questions.keys().map(|(_, cause)| cause.as_str()).collect::<Vec<_>>())
        .bind(questions.values().map(|review| review_subject(&review.subject)).collect::<Vec<_>>())
        .bind(questions.values().map(|review| review.detail.as_str()).collect::<Vec<_>>())
        .bind(at)
        .fetch_all(connection)
        .await?;
    let rows: HashMap<(&str, &str), Opened> = rows
        .iter()
        .map(|(id, kind, cause, new)| ((kind.as_str(), cause.as_str()), Opened { id: *id, new: *new }))
        .collect();
    let mut told = HashSet::new();
    reviews
        .iter()
        .map(|review| {
            let (kind, cause) = question(review);
            let opened = rows.get(&(kind, cause.as_str())).copied().ok_or_else(|| StoreError::Unreadable {
                what: "review",
                detail: format!("{kind} was neither opened nor open"),
            })?;
            Ok(Opened { new: opened.new && told.insert(opened.id), ..opened })
        })
        .collect()
}

/// The ids of those that were not open before, each in its place.
pub fn new_ids(opened: &[Opened]) -> Vec<Option<i64>> {
    opened.iter().map(|opened| opened.new.then_some(opened.id)).collect()
}

fn question(review: &Review) -> (&'static str, String) {
    (review.kind.word(), cause(&review.subject))
}

/// What a review is about, as one text. No name holds a control character, so that none can be mistaken for two.
fn cause(subject: &ReviewSubject) -> String {
    match subject {
        ReviewSubject::Order(order) => format!("order\t{}\t{}", order.channel, order.order_ref),
        ReviewSubject::Payment(payment, _) => format!("payment\t{}\t{}", payment.provider, payment.payment_id),
        ReviewSubject::Message { subject, event_id, .. } => format!("message\t{subject}\t{event_id}"),
        ReviewSubject::Finding(finding) => finding.cause(),
        ReviewSubject::Point(point, _) => format!("point\t{}\t{}\t{}", point.channel, point.warehouse, point.sku),
        ReviewSubject::Channel(channel, what) => format!("channel\t{channel}\t{what}"),
    }
}
