//! What the tables say of the story.

use anyhow::{Result, ensure};
use sqlx::postgres::PgRow;
use sqlx::{Column, PgConnection, Row};

use super::stage::{BOLD, DIM, paint};

/// A table, how many rows the story leaves there, and how they are found by its model.
const TABLES: [(&str, usize, &str); 9] = [
    (
        "stock",
        1,
        "SELECT sku, warehouse, on_hand::text, reserved::text, version::text FROM stock WHERE sku = 'GRINDER-' || $1",
    ),
    (
        "sales_order",
        7,
        "SELECT channel, order_ref, state, payment_mode, event_id FROM sales_order \
         WHERE order_ref LIKE '%-' || $1 ORDER BY created_at, order_ref",
    ),
    (
        "reservation",
        5,
        "SELECT id::text, order_ref, sku, warehouse, qty::text, state FROM reservation \
         WHERE sku = 'GRINDER-' || $1 ORDER BY id",
    ),
    (
        "reservation_event",
        11,
        "SELECT reservation_id::text, from_state, to_state, qty::text, reason, event_id FROM reservation_event \
         WHERE sku = 'GRINDER-' || $1 ORDER BY reservation_event.reservation_id, reservation_event.id",
    ),
    (
        "slot_hold",
        1,
        "SELECT order_ref, resource, to_char(lower(during) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') AS from, \
         to_char(upper(during) AT TIME ZONE 'UTC', 'HH24:MI') AS to, state FROM slot_hold WHERE order_ref LIKE '%-' || $1",
    ),
    (
        "payment",
        2,
        "SELECT provider, payment_id, order_ref, state, amount::text, currency, pays::text FROM payment \
         WHERE order_ref LIKE '%-' || $1 ORDER BY payment.updated_at",
    ),
    (
        "refund_required",
        1,
        "SELECT payment_id, reason, event_id, amount::text, currency FROM refund_required \
         WHERE payment_id LIKE '%-' || $1 ORDER BY refund_required.at",
    ),
    (
        "shipment",
        1,
        "SELECT order_ref, shipment_ref, warehouse, event_id FROM shipment WHERE order_ref LIKE '%-' || $1",
    ),
    (
        "dead_letter",
        1,
        "SELECT id::text, subject, reason, detail FROM dead_letter \
         WHERE position('GRINDER-' || $1 IN convert_from(body, 'UTF8')) > 0 ORDER BY dead_letter.id",
    ),
];

/// Prints the rows that the story has left, and checks that they are all there.
pub async fn print(database: &mut PgConnection, model: &str) -> Result<()> {
    println!("\n{}", paint(BOLD, "And that is what the tables say."));
    for (table, expected, query) in TABLES {
        let rows = sqlx::query(query).bind(model).fetch_all(&mut *database).await?;
        ensure!(rows.len() == expected, "{table} has {} rows of this story instead of {expected}", rows.len());
        println!("\n   {}", paint(BOLD, table));
        for (place, line) in aligned(&rows).into_iter().enumerate() {
            println!("   {}", if place == 0 { paint(DIM, line) } else { line });
        }
    }
    Ok(())
}

/// The names of the columns and the rows, in columns.
fn aligned(rows: &[PgRow]) -> Vec<String> {
    let names = rows.iter().take(1).map(|row| row.columns().iter().map(|column| column.name().to_owned()).collect());
    let texts = rows.iter().map(|row| (0..row.len()).map(|place| text(row, place)).collect());
    let lines: Vec<Vec<String>> = names.chain(texts).collect();
    let width = |place: usize| lines.iter().map(|line| line[place].chars().count()).max().unwrap_or(0);
    let padded = |(place, text): (usize, &String)| format!("{text:<width$}", width = width(place));
    let joined = |line: &Vec<String>| line.iter().enumerate().map(padded).collect::<Vec<_>>().join("  ");
    lines.iter().map(|line| joined(line).trim_end().to_owned()).collect()
}

fn text(row: &PgRow, place: usize) -> String {
    row.try_get::<Option<String>, _>(place).ok().flatten().unwrap_or_default()
}
