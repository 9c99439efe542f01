//! Nothing that arrives makes it panic.

use proptest::prelude::*;

use crate::messages::{Inbound, decode};

/// JSON that is nearly a message.
fn near_message() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        (-2_i64..3).prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        ".{0,12}".prop_map(Into::into),
        prop::sample::select(vec!["1.0", "web", "main", "a", "prepaid", "2027-01-01T10:00:00Z", "e30="])
            .prop_map(Into::into),
    ];
    let key = prop::sample::select(vec![
        "event_id",
        "order_ref",
        "channel",
        "warehouse",
        "lines",
        "sku",
        "qty",
        "resource",
        "from",
        "to",
        "total",
        "amount",
        "currency",
        "hold_for_s",
        "reason",
        "document_ref",
        "on_hand",
        "specversion",
        "id",
        "data",
        "data_base64",
        "payment",
        "unknown",
    ]);
    leaf.prop_recursive(4, 64, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            prop::collection::vec((key.clone(), inner), 0..10).prop_map(|entries| {
                entries
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value))
                    .collect::<serde_json::Map<_, _>>()
                    .into()
            }),
        ]
    })
}

fn any_subject() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "order.created.web",
            "order.renewed.web",
            "order.cancelled.web",
            "inventory.received.main",
            "inventory.written_off.main",
            "inventory.counted.main",
            "inventory.transferred.main",
        ])
        .prop_map(str::to_owned),
        "(order|inventory|.{0,5})\\.[a-z_.]{0,12}.{0,5}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_bytes_make_it_panic(subject in any_subject(), payload in prop::collection::vec(any::<u8>(), 0..200)) {
        let refused = decode(&Inbound { subject: &subject, headers: None, payload: &payload });
        prop_assert!(refused.is_err());
    }

    #[test]
    fn no_json_makes_it_panic(subject in any_subject(), message in near_message()) {
        let payload = message.to_string();
        let inbound = Inbound { subject: &subject, headers: None, payload: payload.as_bytes() };
        if let Err(refusal) = decode(&inbound) {
            prop_assert!(!refusal.detail.contains(char::is_control), "{:?}", refusal);
        }
    }
}
