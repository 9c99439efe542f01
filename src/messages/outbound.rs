//! What the world is told: bodies as the contract has them, field by field, and their headers.

use async_nats::HeaderMap;
use async_nats::header::{HeaderName, HeaderValue, NATS_MESSAGE_ID};
use uuid::Uuid;

use super::bodies::{
    About, Amount, ErrorReply, Fault, Figures, FindingBody, Lines, OrderAnswer, RefundBody, ReviewOpened, Shortages,
    StockChanged, StockReply, to_json,
};
use super::instant::WireTime;
use super::subject::stock_subject;
use crate::domain::{
    Answer, AnswerReason, EventId, Finding, RefundRequired, Refusal, Review, ReviewSubject, Stock, StockChange,
    StockKey, Timestamp, What,
};

/// An event to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Its id, the same on every publication.
    pub event_id: Uuid,
    /// Its subject, without the streams' prefix.
    pub subject: String,
    /// Its body.
    pub body: Vec<u8>,
}

/// What became of an order.
pub fn answer(answer: &Answer, event_id: Uuid, at: Timestamp) -> Told {
    let (what, channel) = (answer.what.word(), &answer.order.channel);
    Told { event_id, subject: format!("reservation.{what}.{channel}"), body: reply(answer, event_id, at) }
}

/// The new figures of a stock row.
pub fn stock_changed(change: &StockChange, event_id: Uuid, at: Timestamp) -> Told {
    Told {
        event_id,
        subject: stock_subject(&change.key),
        body: to_json(&StockChanged {
            event_id,
            figures: Figures::of(&change.key, &change.after),
            occurred_at: WireTime(at),
        }),
    }
}

/// Money that is to be given back.
pub fn refund_required(refund: &RefundRequired, event_id: Uuid, at: Timestamp) -> Told {
    Told {
        event_id,
        subject: format!("refund.required.{}", refund.key.provider),
        body: to_json(&RefundBody {
            event_id,
            channel: refund.order.channel.as_str(),
            order_ref: refund.order.order_ref.as_str(),
            payment_id: refund.key.payment_id.as_str(),
            amount: refund.amount.as_ref().map(Amount::of),
            lines: Lines(&refund.lines, &refund.slots),
            reason: refund.reason.word(),
            occurred_at: WireTime(at),
        }),
    }
}

/// A question for a person.
pub fn review_opened(review: &Review, review_id: i64, event_id: Uuid, at: Timestamp) -> Told {
    let kind = review.kind.word();
    Told {
        event_id,
        subject: format!("review.opened.{kind}"),
        body: to_json(&ReviewOpened {
            event_id,
            review_id,
            kind,
            subject: About::of(&review.subject),
            detail: &review.detail,
            occurred_at: WireTime(at),
        }),
    }
}

/// What a review is about, as its event has it.
pub fn review_subject(subject: &ReviewSubject) -> serde_json::Value {
    serde_json::to_value(About::of(subject)).unwrap_or_default()
}

/// A finding, as its review and the list of findings have it.
pub fn finding(finding: &Finding) -> serde_json::Value {
    serde_json::to_value(FindingBody::of(finding)).unwrap_or_default()
}

/// The figures that a `stock.changed` carries; none where it is no such message.
pub fn read_stock_changed(body: &[u8]) -> Option<Stock> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    let number = |field: &str| body[field].as_i64();
    Some(Stock { on_hand: number("on_hand")?, reserved: number("reserved")?, version: number("version")? })
}

/// The answer for whoever asked to be told directly: the same JSON as the event's.
pub fn reply(answer: &Answer, event_id: Uuid, at: Timestamp) -> Vec<u8> {
    let is_held = answer.what == What::Held;
    let is_rejected = answer.what == What::Rejected;
    to_json(&OrderAnswer {
        event_id,
        channel: answer.order.channel.as_str(),
        order_ref: answer.order.order_ref.as_str(),
        in_reply_to: answer.in_reply_to.as_ref().map(EventId::as_str),
        duplicate: answer.duplicate,
        lines: Lines(&answer.lines, &answer.slots),
        expires_at: answer.expires_at.filter(|_| is_held).map(WireTime),
        reason: answer.reason.map(AnswerReason::word),
        shortages: (is_rejected || !answer.shortages.is_empty()).then_some(Shortages(&answer.shortages)),
        occurred_at: WireTime(at),
    })
}

/// The answer to a message that cannot be processed.
pub fn reply_error(refusal: &Refusal) -> Vec<u8> {
    to_json(&ErrorReply { error: Fault { code: refusal.reason.word(), message: &refusal.detail } })
}

/// The answer to an inventory message: the figures of the rows it is about.
pub fn reply_stock<'a>(in_reply_to: &EventId, rows: impl IntoIterator<Item = (&'a StockKey, &'a Stock)>) -> Vec<u8> {
    to_json(&StockReply {
        in_reply_to: in_reply_to.as_str(),
        lines: rows.into_iter().map(|(key, stock)| Figures::of(key, stock)).collect(),
    })
}

/// The headers of an event: a `CloudEvent` in binary form, deduplicated by its id.
pub fn headers(event_id: Uuid, ce_type: &str, at: Timestamp, traceparent: Option<&str>) -> HeaderMap {
    let name = HeaderName::from_static;
    let id = HeaderValue::from(event_id.to_string());
    let mut headers = HeaderMap::new();
    headers.insert(NATS_MESSAGE_ID, id.clone());
    headers.insert(name("ce-id"), id);
    headers.insert(name("ce-source"), "lastunit");
    headers.insert(name("ce-specversion"), "1.0");
    headers.insert(name("ce-time"), WireTime(at).to_string());
    headers.insert(name("content-type"), "application/json");
    // These two come from elsewhere. One with a line end in it, at which the map would panic, is left out.
    if let Ok(ce_type) = ce_type.parse::<HeaderValue>() {
        headers.insert(name("ce-type"), ce_type);
    }
    if let Some(Ok(traceparent)) = traceparent.map(str::parse::<HeaderValue>) {
        headers.insert(name("traceparent"), traceparent);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        AskedSlot, Channel, LineView, OrderKey, OrderRef, Reason, Rejection, ReservationState, Resource, ReviewKind,
        ReviewSubject, Shortage, Sku, SlotView, Warehouse,
    };
    use time::macros::datetime;

    const ID: Uuid = Uuid::from_u128(0x0197_0000_0000_7000_8000_0000_0000_0001);
    const AT: Timestamp = datetime!(2027-01-01 10:00 UTC);

    fn text(body: &[u8]) -> &str {
        std::str::from_utf8(body).expect("UTF-8")
    }

    fn key(sku: &str) -> StockKey {
        StockKey { sku: Sku::new(sku).expect("sku"), warehouse: Warehouse::new("main").expect("warehouse") }
    }

    fn order() -> OrderKey {
        OrderKey {
            channel: Channel::new("web").expect("channel"),
            order_ref: OrderRef::new("1001").expect("reference"),
        }
    }

    fn told(what: What) -> Answer {
        Answer {
            order: order(),
            what,
            in_reply_to: Some(EventId::new("c7d3").expect("id")),
            duplicate: false,
            lines: vec![],
            slots: vec![],
            expires_at: None,
            reason: None,
            shortages: vec![],
            cause: None,
        }
    }

    #[test]
    fn a_held_order_is_told_with_its_end() {
        let held = Answer {
            lines: vec![LineView {
                sku: Sku::new("COFFEE-GRINDER").expect("sku"),
                warehouse: Warehouse::new("main").expect("warehouse"),
                qty: 1,
                shipped_qty: 0,
                returned_qty: 0,
                state: ReservationState::Held,
            }],
            expires_at: Some(datetime!(2027-01-01 10:15:00.5 UTC)),
            ..told(What::Held)
        };
        let event = answer(&held, ID, AT);
        assert_eq!(event.event_id, ID);
        assert_eq!(event.subject, "reservation.held.web");
        assert_eq!(
            text(&event.body),
            concat!(
                r#"{"event_id":"01970000-0000-7000-8000-000000000001","channel":"web","order_ref":"1001","#,
                r#""in_reply_to":"c7d3","duplicate":false,"lines":[{"sku":"COFFEE-GRINDER","warehouse":"main","#,
                r#""qty":1,"shipped_qty":0,"returned_qty":0,"state":"held"}],"#,
                r#""expires_at":"2027-01-01T10:15:00.500000Z","occurred_at":"2027-01-01T10:00:00.000000Z"}"#,
            )
        );
        assert_eq!(reply(&held, ID, AT), event.body);
    }

    #[test]
    fn slots_stand_after_the_lines() {
        let confirmed = Answer {
            lines: vec![LineView {
                sku: Sku::new("TROPA-41").expect("sku"),
                warehouse: Warehouse::new("main").expect("warehouse"),
                qty: 2,
                shipped_qty: 1,
                returned_qty: 0,
                state: ReservationState::Confirmed,
            }],
            slots: vec![SlotView {
                slot: AskedSlot {
                    resource: Resource::new("fitting-room-1").expect("resource"),
                    from: AT,
                    to: datetime!(2027-01-01 11:00:00.000_001 UTC),
                },
                state: ReservationState::Released,
            }],
            ..told(What::Confirmed)
        };
        assert!(text(&reply(&confirmed, ID, AT)).contains(concat!(
            r#""lines":[{"sku":"TROPA-41","warehouse":"main","qty":2,"shipped_qty":1,"returned_qty":0,"state":"confirmed"},"#,
            r#"{"resource":"fitting-room-1","from":"2027-01-01T10:00:00.000000Z","to":"2027-01-01T11:00:00.000001Z","#,
            r#""state":"released"}],"#,
        )));
    }

    #[test]
    fn a_rejected_order_is_told_with_what_was_missing() {
        let rejected = Answer {
            reason: Some(AnswerReason::Rejected(Rejection::InsufficientStock)),
            shortages: vec![
                Shortage::Units { sku: Sku::new("TROPA-41").expect("sku"), requested: 2, available: 1 },
                Shortage::Slot(AskedSlot {
                    resource: Resource::new("fitting-room-1").expect("resource"),
                    from: AT,
                    to: datetime!(2027-01-01 11:00 UTC),
                }),
            ],
            ..told(What::Rejected)
        };
        let event = answer(&rejected, ID, AT);
        assert_eq!(event.subject, "reservation.rejected.web");
        assert_eq!(
            text(&event.body),
            concat!(
                r#"{"event_id":"01970000-0000-7000-8000-000000000001","channel":"web","order_ref":"1001","#,
                r#""in_reply_to":"c7d3","duplicate":false,"lines":[],"reason":"insufficient_stock","#,
                r#""shortages":[{"sku":"TROPA-41","requested":2,"available":1},"#,
                r#"{"resource":"fitting-room-1","from":"2027-01-01T10:00:00.000000Z","to":"2027-01-01T11:00:00.000000Z"}],"#,
                r#""occurred_at":"2027-01-01T10:00:00.000000Z"}"#,
            )
        );
        let unexplained = reply(&told(What::Rejected), ID, AT);
        assert!(text(&unexplained).contains(r#""shortages":[],"#));
    }

    #[test]
    fn a_timers_answer_replies_to_nothing() {
        let expired = Answer {
            in_reply_to: None,
            expires_at: Some(AT),
            reason: Some(AnswerReason::HoldEnded),
            ..told(What::Expired)
        };
        let event = answer(&expired, ID, AT);
        assert_eq!(event.subject, "reservation.expired.web");
        assert_eq!(
            text(&event.body),
            concat!(
                r#"{"event_id":"01970000-0000-7000-8000-000000000001","channel":"web","order_ref":"1001","#,
                r#""in_reply_to":null,"duplicate":false,"lines":[],"reason":"hold_ended","#,
                r#""occurred_at":"2027-01-01T10:00:00.000000Z"}"#,
            )
        );
    }

    #[test]
    fn figures_are_told_as_they_are_now() {
        let stock = |on_hand, reserved, version| Stock { on_hand, reserved, version };
        let change = StockChange { key: key("a b"), before: stock(10, 2, 41), after: stock(10, 3, 42), cause: None };
        let event = stock_changed(&change, ID, AT);
        assert_eq!(event.subject, "stock.changed.main.a%20b");
        assert_eq!(
            text(&event.body),
            concat!(
                r#"{"event_id":"01970000-0000-7000-8000-000000000001","sku":"a b","warehouse":"main","version":42,"#,
                r#""on_hand":10,"reserved":3,"available":7,"occurred_at":"2027-01-01T10:00:00.000000Z"}"#,
            )
        );
        let in_reply_to = EventId::new("e1").expect("id");
        assert_eq!(
            text(&reply_stock(&in_reply_to, [(&change.key, &change.after)])),
            concat!(
                r#"{"in_reply_to":"e1","lines":[{"sku":"a b","warehouse":"main","version":42,"#,
                r#""on_hand":10,"reserved":3,"available":7}]}"#,
            )
        );
    }

    #[test]
    fn a_review_says_what_it_is_about() {
        let review = |kind, subject| Review { kind, subject, detail: "sold \"elsewhere\"".to_owned(), cause: 0 };
        let oversold = review(ReviewKind::Oversold, ReviewSubject::Order(order()));
        let event = review_opened(&oversold, 17, ID, AT);
        assert_eq!(event.subject, "review.opened.oversold");
        assert_eq!(
            text(&event.body),
            concat!(
                r#"{"event_id":"01970000-0000-7000-8000-000000000001","review_id":17,"kind":"oversold","#,
                r#""subject":{"channel":"web","order_ref":"1001"},"detail":"sold \"elsewhere\"","#,
                r#""occurred_at":"2027-01-01T10:00:00.000000Z"}"#,
            )
        );
        let message = ReviewSubject::Message {
            subject: "inventory.counted.main".into(),
            event_id: EventId::new("e1").expect("id"),
            rows: vec![key("a")],
        };
        let event = review_opened(&review(ReviewKind::CountBelowReserved, message), 1, ID, AT);
        assert!(text(&event.body).contains(
            r#""subject":{"subject":"inventory.counted.main","event_id":"e1","rows":[{"sku":"a","warehouse":"main"}]}"#
        ));
    }

    #[test]
    fn a_refusal_is_replied_with_its_word() {
        let refusal = Refusal::new(Reason::InvalidField, "lines is missing");
        assert_eq!(text(&reply_error(&refusal)), r#"{"error":{"code":"invalid_field","message":"lines is missing"}}"#);
    }

    #[test]
    fn headers_are_a_cloud_event_and_deduplicate() {
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let mut expected = HeaderMap::new();
        for (name, value) in [
            ("Nats-Msg-Id", "01970000-0000-7000-8000-000000000001"),
            ("ce-id", "01970000-0000-7000-8000-000000000001"),
            ("ce-source", "lastunit"),
            ("ce-specversion", "1.0"),
            ("ce-time", "2027-01-01T10:00:00.000000Z"),
            ("content-type", "application/json"),
            ("ce-type", "lastunit.stock.changed"),
        ] {
            expected.insert(name, value);
        }
        let kind = "lastunit.stock.changed";
        assert_eq!(headers(ID, kind, AT, None), expected);
        assert_eq!(headers(ID, kind, AT, Some("a\r\nb")), expected);
        expected.insert("traceparent", trace);
        assert_eq!(headers(ID, kind, AT, Some(trace)), expected);
    }
}
