//! Orders: created, renewed, cancelled.

use time::macros::datetime;

use super::{asked, assert_invalid, kind, line, slot};
use crate::domain::{CancelLine, Currency, Digest, Kind, Money, PaymentMode, Sku};

#[test]
fn the_contracts_order_is_understood() {
    let kind = kind(
        "order.created.web",
        r#""order_ref": "1001", "payment": "online", "channel": "web",
           "total": { "amount": 15999, "currency": "RUB" }, "hold_for_s": 900, "occurred_at": 7,
           "lines": [ { "sku": "COFFEE-GRINDER", "qty": 1 },
                      { "sku": "TROPA-41", "qty": 2, "warehouse": "main" },
                      { "resource": "fitting-room-1", "from": "2027-01-01T10:00:00Z", "to": "2027-01-01T11:00:00Z" } ]"#,
    );
    let Ok(Kind::Create(create)) = kind else { panic!("{kind:?}") };
    assert_eq!(create.order.channel.as_str(), "web");
    assert_eq!(create.order.order_ref.as_str(), "1001");
    assert_eq!(create.payment, PaymentMode::Online);
    let total = Some(Money { amount: 15999, currency: Currency::new("RUB").expect("currency") });
    assert_eq!(create.total, total);
    assert_eq!(create.hold_for_s, Some(900));
    let lines = [line("COFFEE-GRINDER", 1, None), line("TROPA-41", 2, Some("main"))];
    let slots = [slot("fitting-room-1", datetime!(2027-01-01 10:00 UTC), datetime!(2027-01-01 11:00 UTC))];
    assert_eq!(create.lines, lines);
    assert_eq!(create.slots, slots);
    assert_eq!(create.digest, Digest::of_order(PaymentMode::Online, total, &lines, &slots));
}

#[test]
fn what_an_order_leaves_out_has_a_default() {
    let kind = kind(
        "order.created.web",
        r#""order_ref":"1","payment":null,"total":null,"hold_for_s":null,"channel":null,
           "lines":[{"sku":"a","qty":1,"warehouse":null,"resource":null}]"#,
    );
    let Ok(Kind::Create(create)) = kind else { panic!("{kind:?}") };
    assert_eq!(create.payment, PaymentMode::Online);
    assert_eq!(create.total, None);
    assert_eq!(create.hold_for_s, None);
    assert_eq!(create.lines, [line("a", 1, None)]);
}

#[test]
fn a_sku_that_stands_twice_is_one_line() {
    let one = |lines| asked(lines).expect(lines).0;
    assert_eq!(
        one(r#"{"sku":"b","qty":1},{"sku":"a","qty":2},{"sku":"b","qty":3}"#),
        [line("b", 4, None), line("a", 2, None)]
    );
    let named = [line("a", 3, Some("far"))];
    assert_eq!(one(r#"{"sku":"a","qty":1,"warehouse":"far"},{"sku":"a","qty":2}"#), named);
    assert_eq!(one(r#"{"sku":"a","qty":1},{"sku":"a","qty":2,"warehouse":"far"}"#), named);
    assert_eq!(one(r#"{"sku":"a","qty":999999},{"sku":"a","qty":1}"#), [line("a", 1_000_000, None)]);
    assert_invalid(
        asked(r#"{"sku":"a","qty":1000000},{"sku":"b","qty":1},{"sku":"a","qty":1}"#),
        "lines[2] brings the qty of its sku to 1000001",
    );
    assert_invalid(
        asked(r#"{"sku":"a","qty":1,"warehouse":"far"},{"sku":"a","qty":2,"warehouse":"main"}"#),
        r#"lines[1].warehouse must be "far", which another line of the same sku names, but is "main""#,
    );
}

#[test]
fn each_bound_of_an_order_is_judged_at_its_edge() {
    let head = |fields: &str| {
        let fields = format!("{fields},\"lines\":[{{\"sku\":\"a\",\"qty\":1}}]");
        kind("order.created.web", &fields)
    };
    let text = |length: usize| "x".repeat(length);
    let order_ref = |value: &str| head(&format!("\"order_ref\":{value}"));
    let with = |field: &str| head(&format!("\"order_ref\":\"1\",{field}"));
    let total =
        |amount: &str, currency: &str| with(&format!("\"total\":{{\"amount\":{amount},\"currency\":{currency}}}"));

    assert!(order_ref(&format!("\"{}\"", text(200))).is_ok());
    assert_invalid(order_ref(&format!("\"{}\"", text(201))), "order_ref must be 1 to 200 bytes");
    assert_invalid(order_ref("\"\""), "order_ref must be 1 to 200 bytes long, but is \"\"");
    assert_invalid(order_ref("\" 1\""), "order_ref must not begin or end with white space");
    assert_invalid(order_ref(r#""a\nb""#), r#"control characters, but is "a\nb""#);
    assert_invalid(order_ref("1001"), "order_ref must be a string, but is 1001");
    assert_invalid(order_ref("null"), "order_ref is missing");
    assert_invalid(head("\"other\":1"), "order_ref is missing");

    for word in ["online", "prepaid", "on_delivery"] {
        assert!(with(&format!("\"payment\":\"{word}\"")).is_ok());
    }
    assert_invalid(with("\"payment\":\"cash\""), "payment must be online, prepaid or on_delivery");
    assert_invalid(with("\"payment\":1"), "payment must be a string, but is 1");

    for hold in ["1", "86400", "18446744073709551615", "18446744073709551616", "1e30"] {
        assert!(with(&format!("\"hold_for_s\":{hold}")).is_ok(), "{hold}");
    }
    for hold in ["0", "-1", "1.0", "1e3", "\"900\"", "true", "[]"] {
        assert_invalid(with(&format!("\"hold_for_s\":{hold}")), "hold_for_s must be a whole number");
    }

    assert!(total("0", "\"RUB\"").is_ok());
    assert!(total("9223372036854775807", "\"USD\"").is_ok());
    for amount in ["-1", "9223372036854775808", "1.5", "\"1\"", "null"] {
        assert_invalid(total(amount, "\"RUB\""), "total.amount ");
    }
    for currency in ["\"rub\"", "\"RU\"", "\"RUBL\"", "\"РУБ\"", "7", "null"] {
        assert_invalid(total("1", currency), "total.currency ");
    }
    assert_invalid(with("\"total\":15999"), "total must be an object, but is 15999");
}

#[test]
fn each_bound_of_a_line_is_judged_at_its_edge() {
    let qty = |qty: &str| asked(&format!("{{\"sku\":\"a\",\"qty\":{qty}}}"));
    assert!(qty("1").is_ok());
    assert!(qty("1000000").is_ok());
    for (bad, shown) in [
        ("-1", "-1"),
        ("0", "0"),
        ("1000001", "1000001"),
        ("1.5", "1.5"),
        ("1.0", "1.0"),
        ("1e3", "1000.0"),
        ("9223372036854775808", "9223372036854775808"),
        ("-9223372036854775809", "-9.223372036854776e18"),
        ("\"1\"", "\"1\""),
        ("true", "true"),
        ("{}", "an object"),
    ] {
        let sentence = format!("lines[0].qty must be a whole number from 1 to 1000000, but is {shown}");
        assert_invalid(qty(bad), &sentence);
    }
    assert_invalid(qty("null"), "lines[0].qty is missing");

    let lines = |count: usize| asked(&vec![r#"{"sku":"a","qty":1}"#; count].join(","));
    assert_eq!(lines(500).map(|(lines, _)| lines), Ok(vec![line("a", 500, None)]));
    assert_invalid(lines(501), "lines must have 1 to 500 items, but has 501");
    assert_invalid(lines(0), "lines must have 1 to 500 items, but has 0");
    assert_invalid(kind("order.created.web", r#""order_ref":"1""#), "lines is missing");
    assert_invalid(kind("order.created.web", r#""order_ref":"1","lines":{}"#), "lines must be a list");
    assert_invalid(asked("7"), "lines[0] must be an object, but is 7");

    let sku = |sku: &str| asked(&format!("{{\"sku\":\"{sku}\",\"qty\":1}}"));
    assert!(sku(&"я".repeat(100)).is_ok());
    assert_invalid(sku(&"я".repeat(101)), "lines[0].sku must be 1 to 200 bytes");
    assert_invalid(sku("a "), "lines[0].sku must not begin or end with white space");
    assert_invalid(sku(r"a\u0000"), "lines[0].sku must not contain control characters");

    let warehouse = |name: &str| asked(&format!(r#"{{"sku":"a","qty":1,"warehouse":{name}}}"#));
    assert!(warehouse(&format!("\"{}\"", "w".repeat(64))).is_ok());
    for bad in ["\"\"", "\"a.b\"", "\"*\"", "1"] {
        assert_invalid(warehouse(bad), "lines[0].warehouse must be ");
    }
    assert_invalid(asked(r#"{"qty":1}"#), "lines[0] must have either a sku or a resource");
    assert_invalid(asked(r#"{"sku":"a","qty":1,"resource":"r"}"#), "lines[0] must have either a sku or a resource");
}

#[test]
fn odd_skus_are_taken_as_they_are() {
    for odd in ["a.", "*", ">", "a b", "%", "\\", "☕", "caf\u{e9}", "cafe\u{301}", "007"] {
        let json = serde_json::json!({ "sku": odd, "qty": 1 }).to_string();
        assert_eq!(asked(&json).expect(odd).0, [line(odd, 1, None)]);
    }
}

#[test]
fn slots_keep_apart() {
    let hour = |resource: &str, from: &str, to: &str| {
        format!(r#"{{"resource":"{resource}","from":"2027-01-01T{from}","to":"2027-01-01T{to}"}}"#)
    };
    let two = |a: &str, b: &str| asked(&format!("{a},{b}"));
    let ten = hour("r", "10:00:00Z", "11:00:00Z");
    let eleven = hour("r", "11:00:00Z", "12:00:00Z");

    let (_, slots) = two(&eleven, &ten).expect("they only touch");
    assert_eq!(slots[0].from, datetime!(2027-01-01 11:00 UTC));
    assert!(two(&ten, &hour("q", "10:00:00Z", "11:00:00Z")).is_ok());
    assert_invalid(two(&ten, &ten), "lines[1] overlaps lines[0], a slot of the same resource");
    assert_invalid(two(&ten, &hour("r", "10:59:59.999999Z", "12:00:00Z")), "lines[1] overlaps");
    assert_invalid(two(&ten, &hour("r", "13:00:00+03:00", "13:30:00+03:00")), "overlaps");

    let (_, slots) = asked(&hour("r", "10:00:00.0000019Z", "10:00:00.000002Z")).expect("apart");
    assert_eq!(slots[0].from, datetime!(2027-01-01 10:00:00.000001 UTC));
    for (from, to) in
        [("10:00:00Z", "10:00:00Z"), ("11:00:00Z", "10:00:00Z"), ("10:00:00.0000011Z", "10:00:00.0000019Z")]
    {
        assert_invalid(asked(&hour("r", from, to)), "lines[0].to must be later than from");
    }
    assert_invalid(asked(&hour("r", "10:00", "11:00:00Z")), "lines[0].from must be an RFC 3339");
    assert_invalid(asked(r#"{"resource":"r","from":1,"to":2}"#), "lines[0].from must be a string");
    assert_invalid(asked(r#"{"resource":"r"}"#), "lines[0].from is missing");
}

#[test]
fn a_renewal_is_understood() {
    let kind = kind("order.renewed.web", r#""order_ref":"1001","hold_for_s":60"#);
    let Ok(Kind::Renew(renew)) = kind else { panic!("{kind:?}") };
    assert_eq!(renew.order.order_ref.as_str(), "1001");
    assert_eq!(renew.hold_for_s, Some(60));
}

#[test]
fn a_cancel_is_whole_or_names_lines() {
    let cancel = |fields: &str| match kind("order.cancelled.web", fields)? {
        Kind::Cancel(cancel) => Ok((cancel.reason, cancel.lines)),
        other => panic!("{other:?}"),
    };
    let whole = cancel(r#""order_ref":"1","reason":"changed mind""#);
    assert_eq!(whole, Ok((Some("changed mind".into()), None)));
    assert_eq!(cancel(r#""order_ref":"1","lines":null"#), Ok((None, None)));
    let part = cancel(
        r#""order_ref":"1","lines":[{"sku":"b","qty":1},
           {"resource":"r","from":"2027-01-01T10:00:00Z","to":"2027-01-01T11:00:00Z"},
           {"sku":"a","qty":1},{"sku":"b","qty":2}]"#,
    );
    let hour = slot("r", datetime!(2027-01-01 10:00 UTC), datetime!(2027-01-01 11:00 UTC));
    let lines = vec![
        CancelLine::Units(Sku::new("b").expect("sku"), 3),
        CancelLine::Units(Sku::new("a").expect("sku"), 1),
        CancelLine::Slot(hour),
    ];
    assert_eq!(part, Ok((None, Some(lines))));

    assert_invalid(cancel(r#""order_ref":"1","lines":[]"#), "lines must have 1 to 500 items");
    let reason = |length| cancel(&format!(r#""order_ref":"1","reason":"{}""#, "x".repeat(length)));
    assert!(reason(500).is_ok());
    assert_invalid(reason(501), "reason must be at most 500 bytes long");
    assert_invalid(cancel(r#""order_ref":"1","reason":"a\tb""#), "reason must not contain control");
    assert_invalid(cancel(r#""order_ref":"1","reason":7"#), "reason must be a string, but is 7");
}
