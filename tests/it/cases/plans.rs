//! The plans of every statement, as the program's own connections make them: no growing table is ever read whole, whatever it held when the
//! plan was made.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use lastunit::config::Database;
use lastunit::store::{audit, migrate, pool};
use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::support::Ground;

/// A statement: its file, the types of its parameters, and how it may find rows of growing tables: by all these columns at once.
struct Statement {
    file: &'static str,
    types: &'static str,
    finds: &'static [(&'static str, &'static [&'static str])],
}

const fn statement(
    file: &'static str,
    types: &'static str,
    finds: &'static [(&'static str, &'static [&'static str])],
) -> Statement {
    Statement { file, types, finds }
}

const ORDER: (&str, &[&str]) = ("sales_order", &["channel", "order_ref"]);
const STOCK: (&str, &[&str]) = ("stock", &["sku", "warehouse"]);
const STOCK_OF_SKU: (&str, &[&str]) = ("stock", &["sku"]);
const UNSENT: (&str, &[&str]) = ("outbox", &["stream"]);

const PAYMENT: (&str, &[&str]) = ("payment", &["payment_id", "provider"]);
const RESOURCE: (&str, &[&str]) = ("slot_resource", &["resource"]);
const ITEM: (&str, &[&str]) = ("channel_item_map", &["sku", "channel"]);
const ATTEMPT: (&str, &[&str]) = ("push_attempt", &["sku", "channel", "warehouse"]);
const OBSERVATION: (&str, &[&str]) = ("stock_observation", &["sku", "channel", "warehouse"]);
const REVIEW: (&str, &[&str]) = ("review_item", &["id"]);
const POINT: (&str, &[&str]) = ("publish_point", &["sku", "channel", "warehouse"]);
const POINT_OF_ROW: (&str, &[&str]) = ("publish_point", &["warehouse", "sku"]);
const PUSH: (&str, &[&str]) = ("stock_push", &["sku", "channel", "warehouse"]);
const CONFIRMED: (&str, &[&str]) = ("stock_confirmed", &["sku", "channel", "warehouse"]);
const LETTER: (&str, &[&str]) = ("dead_letter", &["id"]);

const STATEMENTS: [Statement; 150] = [
    statement(
        "audit_fates",
        "text, text[], text[], text[], text[], bigint[], timestamptz[]",
        &[
            ("processed_event", &["subject", "event_id"]),
            ("sales_order", &["order_ref", "channel"]),
            ("waiting_message", &["subject", "event_id"]),
            ("dead_letter", &["stream", "sequence", "received_at"]),
        ],
    ),
    statement("audit_last", "", &[]),
    statement("audit_record", "double precision, bigint[], text", &[]),
    statement("compared_availability", "text[], text[]", &[STOCK]),
    statement("compared_expiry", "text[], text[]", &[ORDER]),
    statement("imported_unclaim", "text[], text[], text", &[ORDER]),
    statement(
        "dead_letters_insert",
        "uuid[], text[], bigint[], timestamptz[], text[], text[], text[], text[], jsonb[], bytea[], timestamptz",
        &[],
    ),
    statement("dead_letters_refused", "text[], bigint[], bigint[]", &[("dead_letter", &["stream", "sequence"])]),
    statement("dead_letters_oldest", "", &[("dead_letter", &["resolved_at"])]),
    statement(
        "dead_letters_prune",
        "double precision, bigint",
        &[("dead_letter", &["resolved_at"]), ("dead_letter", &["id"]), ("outbox", &["written_at"])],
    ),
    statement("dead_letters_load", "bigint[]", &[LETTER]),
    statement("dead_letters_again", "bigint[], text[], text[]", &[LETTER]),
    statement("dead_letters_list", "bigint, boolean, text, timestamptz, timestamptz, bigint", &[LETTER]),
    statement("dead_letters_lock", "bigint[]", &[LETTER]),
    statement(
        "dead_letters_reopen",
        "text[], bigint[], timestamptz[], text[], text[], timestamptz",
        &[("dead_letter", &["stream", "sequence", "received_at"])],
    ),
    statement("dead_letters_resolve", "bigint[], timestamptz", &[LETTER]),
    statement("channel_maps_items", "text", &[("channel_item_map", &["channel"])]),
    statement("channel_maps_warehouses", "text", &[]),
    statement("channel_switch_flying", "text", &[("publish_point", &["channel", "lease_until"])]),
    statement("channel_switch_pause", "text, bigint", &[]),
    statement("channel_switch_resume", "text, bigint", &[]),
    statement("clock", "", &[]),
    statement("due_next", "", &[]),
    statement(
        "due_on_rows",
        "text[], text[], timestamptz, bigint",
        &[("reservation", &["sku", "warehouse", "expires_at"])],
    ),
    statement("due_orders", "bigint", &[("sales_order", &["expires_at"])]),
    statement("generations_close", "text", &[]),
    statement("generations_kept", "text, double precision", &[]),
    statement("generations_open", "text, smallint", &[]),
    statement("horizon", "", &[]),
    statement(
        "inbox",
        "text[], text[]",
        &[("processed_event", &["subject", "event_id"]), ("waiting_message", &["subject", "event_id"])],
    ),
    statement("inbox_documents", "text[], text[]", &[("inventory_document", &["subject", "document_ref"])]),
    statement("inbox_file", "text[], text[], bytea[], text[], timestamptz", &[]),
    statement("inbox_forget", "text[], text[]", &[("processed_event", &["subject", "event_id"])]),
    statement("inbox_renew", "text[], text[]", &[("processed_event", &["subject", "event_id"])]),
    statement("item_map_clear", "text[], text[]", &[ITEM]),
    statement("item_map_insert", "text[], text[], text[]", &[]),
    statement("item_map_stock", "text[]", &[STOCK_OF_SKU]),
    statement("item_map_touched", "text[], text[], text[]", &[ITEM, ("channel_item_map", &["channel", "external_id"])]),
    statement("journal_movements", "text[], text[], bigint[], text[], text[], timestamptz", &[]),
    statement("journal_steps", "bigint[], text[], text[], text[], text[], bigint[], text[], text[], timestamptz", &[]),
    statement("known_skus", "text[]", &[STOCK_OF_SKU]),
    statement("known_warehouses", "text[]", &[("stock", &["warehouse"])]),
    statement("newest", "", &[]),
    statement("repair_insert", "text[], text[], text[], text[], bigint[], bigint[], timestamptz", &[]),
    statement(
        "observed_insert",
        "text, timestamptz, text[], text[], bigint[], bigint[], bigint[], text[]",
        &[OBSERVATION],
    ),
    statement("observed_look", "text[], text[], text[]", &[POINT, POINT_OF_ROW]),
    statement(
        "observed_points",
        "text[], text[], text[], timestamptz",
        &[("publish_point", &["channel", "external_warehouse_id", "external_id"]), ATTEMPT],
    ),
    statement("orders_exist", "text[], text[]", &[ORDER]),
    statement("orders_claim", "text[], text[], text[], text[], text[], bigint[], text[], bytea[], bigint[]", &[]),
    statement("orders_lock", "text[], text[]", &[ORDER]),
    statement(
        "orders_update",
        "text[], text[], text[], text[], text[], text[], bigint[], text[], bytea[], text[], timestamptz[], timestamptz[], \
         timestamptz[], text[]",
        &[ORDER],
    ),
    statement("outbox_backlog", "text", &[UNSENT]),
    statement("outbox_insert", "text[], bytea[], timestamptz", &[]),
    statement("outbox_last_unsent", "text", &[UNSENT]),
    statement(
        "outbox_needed",
        "smallint, double precision, text[]",
        &[("outbox", &["sent_at"]), ("outbox", &["stream"])],
    ),
    statement("outbox_unsent", "text, bigint, bigint", &[("outbox", &["stream", "id"])]),
    statement(
        "payments_insert",
        "text[], text[], text[], text[], text[], bigint[], text[], bigint[], boolean[], timestamptz",
        &[],
    ),
    statement(
        "payments_load",
        "text[], text[], text[], text[]",
        &[
            ("payment", &["order_ref", "channel"]),
            PAYMENT,
            ("payment_report", &["payment_id", "provider"]),
            ("refund_required", &["payment_id", "provider"]),
        ],
    ),
    statement("payments_report", "text[], text[], text[], text[], bigint[], text[], text[], timestamptz", &[]),
    statement(
        "payments_update",
        "text[], text[], text[], bigint[], text[], bigint[], text[], bigint[], boolean[], timestamptz",
        &[PAYMENT],
    ),
    statement("refunds_require", "text[], text[], text[], text[], bigint[], text[], boolean[], timestamptz", &[]),
    statement(
        "refunds_settle",
        "text[], text[], boolean[], timestamptz",
        &[("refund_required", &["payment_id", "provider"])],
    ),
    statement("broker_acknowledge", "text[]", &[]),
    statement("broker_forget", "text[]", &[]),
    statement("broker_losses", "", &[]),
    statement("broker_lost", "text, bigint, timestamptz, bigint, text, text", &[]),
    statement("broker_meet", "text[], timestamptz[], bigint[]", &[]),
    statement("broker_remembered", "", &[]),
    statement("broker_stream", "text", &[]),
    statement("doubts_add", "text[], text[]", &[]),
    statement("doubts_remove", "text[], text[]", &[("stock_doubt", &["sku", "warehouse"])]),
    statement("doubts_some", "bigint", &[]),
    statement("outbox_oldest", "", &[]),
    statement("outbox_sent", "bigint[], text, bigint, bigint", &[("outbox", &["id"])]),
    statement("outbox_told", "text, bigint, bigint, timestamptz, bigint", &[("outbox", &["id"])]),
    statement("replays_done", "bigint, text[]", &[]),
    statement("replays_open", "text", &[]),
    statement("replays_progress", "bigint[]", &[]),
    statement("replays_request", "text, timestamptz", &[("outbox", &["written_at"])]),
    statement("replays_told", "bigint, bigint, text, bigint, bigint, bigint", &[]),
    statement(
        "report_stages",
        "text[], text[], text[]",
        &[
            ("sales_order", &["order_ref", "channel"]),
            ("reservation", &["order_ref", "channel"]),
            ("reservation_event", &["reservation_id"]),
            ("outbox", &["written_at"]),
        ],
    ),
    statement("reservations_ids", "int", &[]),
    statement(
        "reservations_insert",
        "bigint[], text[], text[], text[], text[], bigint[], text[], boolean[], boolean[], timestamptz[], timestamptz, \
         bigint[], bigint[]",
        &[],
    ),
    statement("reservations_load", "text[], text[]", &[("reservation", &["channel", "order_ref"])]),
    statement(
        "reservations_update",
        "bigint[], text[], bigint[], text[], text[], bigint[], boolean[], timestamptz[], bigint[], bigint[], bigint[], bigint[]",
        &[("reservation", &["id"])],
    ),
    statement(
        "query_order",
        "text, text",
        &[ORDER, ("reservation", &["channel", "order_ref"]), ("slot_hold", &["channel", "order_ref"])],
    ),
    statement("query_stock", "text, text", &[STOCK_OF_SKU]),
    statement("reviews_kept", "bigint", &[("waiting_message", &["review_id"])]),
    statement("reviews_list", "bigint, boolean, text, bigint", &[REVIEW]),
    statement("reviews_load", "bigint", &[REVIEW]),
    statement("reviews_lock", "bigint[]", &[REVIEW]),
    statement("reviews_open", "text[], text[], jsonb[], text[], timestamptz", &[]),
    statement("resources_put", "text[], text[]", &[]),
    statement("reviews_resolve", "bigint[], text[], text[], timestamptz", &[REVIEW]),
    statement("routes", "text[]", &[]),
    statement("shipments_file", "text[], text[], text[], text[], bytea[], text[], timestamptz", &[]),
    statement("shipments_lines", "bigint[], text[], text[], text[], bigint[], text[], timestamptz", &[]),
    statement(
        "shipments_load",
        "text[], text[], text[], text[]",
        &[("shipment", &["channel", "order_ref", "shipment_ref", "warehouse"])],
    ),
    statement("slots_exist", "text[]", &[RESOURCE]),
    statement("slots_ids", "int", &[]),
    statement(
        "slots_insert",
        "bigint[], text[], text[], text[], timestamptz[], timestamptz[], text[], boolean[], timestamptz[], timestamptz",
        &[],
    ),
    statement("slots_load", "text[], text[]", &[("slot_hold", &["channel", "order_ref"])]),
    statement("slots_lock", "text[]", &[RESOURCE]),
    statement(
        "slots_steps",
        "bigint[], text[], timestamptz[], timestamptz[], text[], text[], text[], text[], timestamptz",
        &[],
    ),
    statement("slots_taken", "text[], timestamptz[], timestamptz[]", &[("slot_hold", &["resource", "during"])]),
    statement("slots_update", "bigint[], text[], text[], boolean[], timestamptz[]", &[("slot_hold", &["id"])]),
    statement("stock_exist", "text[], text[]", &[STOCK_OF_SKU]),
    statement("stock_lock", "text[], text[]", &[STOCK_OF_SKU]),
    statement("stock_make", "text[], text[]", &[]),
    statement("stock_open", "text[], text[], bigint[], bigint[]", &[]),
    statement("stock_openings", "text[], text[]", &[STOCK, ("stock_movement", &["sku", "warehouse"])]),
    statement("stock_raise", "text[], text[], bigint[]", &[STOCK]),
    statement("stock_retell", "text[], text[]", &[STOCK]),
    statement("stock_unmake", "text[], text[], bigint", &[STOCK]),
    statement(
        "stock_update",
        "text[], text[], bigint[], bigint[], bigint[], bigint[], bigint[], timestamptz",
        &[STOCK],
    ),
    statement("stock_versions", "text[], text[]", &[STOCK]),
    statement("waiting_done", "bigint[]", &[("waiting_message", &["id"])]),
    statement(
        "waiting_insert",
        "text[], text[], bigint[], text[], bigint[], timestamptz[], text[], text[], text[], jsonb[], bytea[], timestamptz",
        &[],
    ),
    statement("warehouse_map", "", &[]),
    statement("warehouse_map_clear", "text[], text[]", &[]),
    statement("warehouse_map_insert", "text[], text[], text[], integer[], bigint[]", &[]),
    statement("waiting_review", "bigint[], bigint[]", &[("waiting_message", &["id"])]),
    statement("waiting_load", "text[], text[]", &[("waiting_message", &["channel", "order_ref"])]),
    statement("channels_ask", "text", &[]),
    statement("channels_calm", "text", &[]),
    statement("channels_checked", "text", &[]),
    statement("channels_gauges", "text", &[("publish_point", &["channel"])]),
    statement("channels_halt", "text, text", &[]),
    statement("channels_is_reconciled", "text, timestamptz", &[]),
    statement("channels_load", "text", &[]),
    statement("channels_open", "text, bigint", &[]),
    statement("channels_reconciled", "text, timestamptz", &[]),
    statement("confirmed_forget", "text[], text[], text[]", &[CONFIRMED]),
    statement("confirmed_load", "text[], text[], text[]", &[POINT, POINT_OF_ROW, CONFIRMED, STOCK]),
    statement("confirmed_write", "text[], text[], text[], bigint[], bigint[], timestamptz", &[]),
    statement("observations_insert", "text[], text, text[], bigint[], bigint[], bigint[], text[], timestamptz", &[]),
    statement(
        "points_due",
        "text, int, boolean",
        &[
            ("publish_point", &["channel"]),
            ("publish_point", &["channel", "external_warehouse_id", "external_id"]),
            ("publish_point", &["channel", "told_external_warehouse_id", "told_external_id"]),
        ],
    ),
    statement(
        "points_flown",
        "text, bigint",
        &[("publish_point", &["channel", "lease_until"]), ("push_attempt", &["sku", "channel", "warehouse", "flight"])],
    ),
    statement("points_lock", "text[], text[], text[]", &[POINT, POINT_OF_ROW]),
    statement("points_look", "text, bigint", &[("publish_point", &["channel", "look_at"])]),
    statement("points_make", "text[], text[], text[]", &[]),
    statement(
        "points_missed",
        "text, text, text, bigint",
        &[("channel_item_map", &["sku"]), STOCK_OF_SKU, POINT, POINT_OF_ROW],
    ),
    statement("points_shown", "text, text, text, bigint", &[("publish_point", &["channel"])]),
    statement(
        "points_wanted",
        "text[], text[], bigint[], bigint[], text[], bigint[]",
        &[("channel_item_map", &["sku"]), ("publish_point", &["warehouse", "sku"])],
    ),
    statement(
        "points_write",
        "text[], text[], text[], text[], text[], bigint[], bigint[], bigint[], bigint[], bigint[], timestamptz[], text[], text[], \
         timestamptz[], bigint[], uuid[], timestamptz[], timestamptz[], timestamptz[], int[], int[], timestamptz[], int[], text[], bigint[], \
         bigint[], timestamptz[], bigint[], boolean[]",
        &[POINT, POINT_OF_ROW],
    ),
    statement(
        "pushes_fly",
        "text[], text[], text[], bigint[], text[], text[], bigint[], boolean[], bigint[], uuid, timestamptz",
        &[PUSH, ("stock_push", &["id"])],
    ),
    statement(
        "pushes_land",
        "text[], text[], text[], bigint[], bigint[], text[], text[], text[], uuid, timestamptz",
        &[PUSH, ("push_attempt", &["sku", "channel", "warehouse", "flight"]), ("push_attempt", &["id"])],
    ),
    statement("pushes_mark", "text[], text[], text[], bigint[], text[], text[]", &[PUSH]),
    statement(
        "pushes_prune",
        "double precision, bigint",
        &[("stock_push", &["created_at"]), POINT, POINT_OF_ROW, ("stock_push", &["id"])],
    ),
    statement(
        "pushes_queue",
        "text[], text[], text[], bigint[], bigint[], text[], text[], timestamptz",
        &[PUSH, ("stock_push", &["id"])],
    ),
];

/// What is looked through whole: what waits, by the net that the sweeper draws (it holds what waits now, and no more), and the rows of a
/// warehouse, page by page, when an import changed its map; and all rows, once, when more is to be told again than is kept; and the dead letters that
/// are open, as long as they are few; and a channel's points, page by page, when its safety stock has changed.
const SWEEPS: [Statement; 6] = [
    statement("points_of", "text, text, text, bigint", &[("publish_point", &[])]),
    statement("channels_refused", "text", &[("dead_letter", &[])]),
    statement("doubts_add_all", "", &[("stock", &[])]),
    statement(
        "waiting_overdue",
        "double precision, bigint",
        &[("waiting_message", &["since"]), ("waiting_message", &["id"])],
    ),
    statement("stock_after", "text[], text, text, bigint", &[("stock", &[])]),
    statement("waiting_wakeable", "bigint", &[("waiting_message", &[]), ORDER]),
];

/// What the audit, reports and exports read whole, in plans that the planner chooses. Each table once: none is read again for every row of another.
const AUDIT: [Statement; 31] = [
    statement("audit_1_stock", "", &[]),
    statement("audit_2_reserved", "", &[]),
    statement("audit_2_parcels", "", &[]),
    statement("audit_3_on_hand", "", &[]),
    statement("audit_3_parcels", "", &[]),
    statement("audit_4_steps", "text[], text[], int[]", &[]),
    statement("audit_4_states", "", &[]),
    statement("audit_4_orders", "text[]", &[]),
    statement("audit_4_slot_states", "", &[]),
    statement("audit_4_slot_steps", "text[], text[]", &[]),
    statement("audit_5_slots_apart", "", &[]),
    statement("audit_5_once", "", &[]),
    statement("audit_6_waiting", "", &[]),
    statement("audit_7_versions", "", &[]),
    statement("audit_8_confirmed", "", &[]),
    statement("audit_8_order", "", &[]),
    statement("audit_8_told", "", &[]),
    statement("audit_9_money", "", &[]),
    statement("audit_stock", "", &[]),
    statement("channel_switch_status", "text[], text", &[]),
    statement("observed_since", "text, timestamptz", &[]),
    statement("exported_desired", "text, bigint, bigint", &[]),
    statement("exported_lines", "", &[]),
    statement("exported_mappings", "", &[]),
    statement("exported_resources", "", &[]),
    statement("exported_slots", "", &[]),
    statement("exported_stock", "", &[]),
    statement("exported_warehouses", "", &[]),
    statement("report_drift", "timestamptz, text", &[]),
    statement("report_holds", "timestamptz, text", &[]),
    statement("report_stockouts", "timestamptz, text", &[]),
];

/// What is asked by somebody who wants to know why, in the audit's snapshot and with its plans: some of it looks for what no index names.
const WHY: [Statement; 25] = [
    statement("explain_dead", "bytea", &[]),
    statement("explain_figures", "text[], text[]", &[]),
    statement("explain_holders", "text[], text[], bigint[], timestamptz, bigint", &[]),
    statement("explain_lines", "text, text", &[]),
    statement("explain_movements", "text, text, timestamptz, bigint", &[]),
    statement("explain_order", "text, text", &[]),
    statement("explain_parcels", "bigint[]", &[]),
    statement("explain_payments", "text, text", &[]),
    statement("explain_refunds", "text, text", &[]),
    statement("explain_reviews", "text, text, text[]", &[]),
    statement("explain_row_steps", "text, text, timestamptz, bigint", &[]),
    statement(
        "explain_slot_holders",
        "text[], text[], text[], timestamptz[], timestamptz[], bigint[], timestamptz",
        &[],
    ),
    statement("explain_slot_steps", "bigint[]", &[]),
    statement("explain_slots", "text, text", &[]),
    statement("explain_steps", "bigint[]", &[]),
    statement("explain_told_at", "timestamptz[]", &[]),
    statement("explain_told_since", "timestamptz", &[]),
    statement("explain_waiting", "text, text", &[]),
    statement("locks", "", &[]),
    statement("point_story", "text, text, text", &[]),
    statement("point_story_attempts", "text, text, text, bigint", &[]),
    statement("point_story_observations", "text, text, text, bigint", &[]),
    statement("point_story_pushes", "text, text, text", &[]),
    statement("repair_rows", "text[], text[]", &[]),
    statement("locks_sessions", "int[]", &[]),
];

/// Tables with a row for each order, message, SKU. The warehouse map is set by people.
const GROWING: [&str; 26] = [
    "channel_item_map",
    "publish_point",
    "push_attempt",
    "stock_confirmed",
    "stock_observation",
    "stock_push",
    "payment",
    "payment_report",
    "refund_required",
    "review_item",
    "sales_order",
    "reservation",
    "reservation_event",
    "stock",
    "stock_doubt",
    "stock_movement",
    "processed_event",
    "inventory_document",
    "waiting_message",
    "slot_resource",
    "slot_hold",
    "slot_event",
    "outbox",
    "dead_letter",
    "shipment",
    "parcel_line",
];

fn all() -> impl Iterator<Item = &'static Statement> {
    STATEMENTS.iter().chain(&SWEEPS)
}

#[test]
fn every_statement_of_the_program_has_its_plan_held() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store");
    let files: BTreeSet<String> = fs::read_dir(dir)
        .unwrap()
        .filter_map(|entry| Some(entry.unwrap().file_name().to_str()?.strip_suffix(".sql")?.to_owned()))
        .collect();
    let held: BTreeSet<String> = all().chain(&AUDIT).chain(&WHY).map(|statement| statement.file.to_owned()).collect();
    assert_eq!(files, held);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_growing_table_is_read_whole_on_empty_small_or_large_data() {
    let ground = Ground::new().await;
    let database = Database { url: ground.database_url.clone().into(), ..Database::default() };
    let options = pool::options(&database).unwrap();
    let made = pool_of(&database).await;
    judge_all("empty", &options).await;
    fill(&made, 1, 50).await;
    judge_all("small", &options).await;
    analyze(&made).await;
    judge_all("small and analyzed", &options).await;
    fill(&made, 51, 200_000).await;
    judge_all("grown since it was analyzed", &options).await;
    judge_audit("grown since it was analyzed", &options).await;
    analyze(&made).await;
    judge_all("large and analyzed", &options).await;
    judge_audit("large and analyzed", &options).await;
}

async fn pool_of(database: &Database) -> sqlx::PgPool {
    let pool = lastunit::store::connect(database).unwrap();
    migrate::apply(&pool, &database.schema).await.unwrap();
    pool
}

/// A connection for what the program never does: so much at once.
async fn unhurried(db: &sqlx::PgPool) -> PgConnection {
    let mut connection = db.acquire().await.unwrap().detach();
    sqlx::query("SET statement_timeout = 0").execute(&mut connection).await.unwrap();
    connection
}

async fn analyze(db: &sqlx::PgPool) {
    let mut connection = unhurried(db).await;
    sqlx::query("ANALYZE").execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// Rows as they come: most orders are done with, most of the outbox is sent, some wait.
async fn fill(db: &sqlx::PgPool, from: i32, to: i32) {
    let rows = [
        "INSERT INTO sales_order (channel, order_ref, state, event_id, payment_mode, expires_at, created_at)
         SELECT 'web', n::text, CASE WHEN n % 50 = 0 THEN 'held' ELSE 'confirmed' END, n::text, 'online', now(), now()",
        "INSERT INTO reservation (channel, order_ref, sku, warehouse, qty, state, named, expires_at, created_at)
         SELECT 'web', n::text, 'sku' || n % 1000, 'main', 1, CASE WHEN n % 50 = 0 THEN 'held' ELSE 'confirmed' END, false, now(), now()",
        "INSERT INTO reservation_event (reservation_id, sku, warehouse, to_state, qty, at)
         SELECT n, 'sku' || n % 1000, 'main', 'confirmed', 1, now()",
        "INSERT INTO stock (sku, warehouse, on_hand, version)
         SELECT 'sku' || n, CASE WHEN n % 2 = 0 THEN 'main' ELSE 'far' END, 1, 1",
        "INSERT INTO slot_resource (resource) SELECT 'room' || n",
        "INSERT INTO slot_hold (channel, order_ref, resource, during, state, expires_at, created_at)
         SELECT 'web', n::text, 'room' || (n - 1) / 50 * 50 + 1,
                tstzrange('2027-01-01'::timestamptz + n * interval '1 hour', '2027-01-01'::timestamptz + (n + 1) * interval '1 hour'),
                CASE WHEN n % 50 = 0 THEN 'held' ELSE 'confirmed' END, now(), now()",
        "INSERT INTO slot_event (slot_hold_id, resource, during, to_state, at)
         SELECT n, 'room' || (n - 1) / 50 * 50 + 1,
                tstzrange('2027-01-01'::timestamptz + n * interval '1 hour', '2027-01-01'::timestamptz + (n + 1) * interval '1 hour'),
                'confirmed', now()",
        "INSERT INTO stock_doubt (sku, warehouse) SELECT 'sku' || n, CASE WHEN n % 2 = 0 THEN 'main' ELSE 'far' END",
        "INSERT INTO stock_movement (sku, warehouse, delta, kind, at)
         SELECT 'sku' || n, CASE WHEN n % 2 = 0 THEN 'main' ELSE 'far' END, 1, 'opening', now()",
        "INSERT INTO processed_event (subject, event_id, at, generation)
         SELECT 'order.cancelled.web', n::text, now(), n % 4",
        "INSERT INTO inventory_document (subject, document_ref, digest, event_id, at)
         SELECT 'inventory.received.main', n::text, '', n::text, now()",
        "INSERT INTO outbox (stream, entries, written_at, sent_at, generation)
         SELECT CASE WHEN n % 10 = 0 THEN 'DEAD' ELSE 'STOCK' END, '', now(), CASE WHEN n % 101 > 0 THEN now() END, n % 4",
        "INSERT INTO dead_letter
            (event_id, stream, sequence, received_at, consumer, subject, reason, detail, headers, body, opened_at, resolved_at)
         SELECT gen_random_uuid(), 'ORDERS', n, now(), '', '', '', '', '{}', '', now(), CASE WHEN n % 10 > 0 THEN now() END",
        "INSERT INTO shipment (channel, order_ref, shipment_ref, warehouse, digest, event_id, at)
         SELECT 'web', n::text, 'S', 'main', '', n::text, now()",
        "INSERT INTO parcel_line (reservation_id, sku, warehouse, kind, qty, event_id, at)
         SELECT n, 'sku' || n % 1000, 'main', 'shipped', 1, n::text, now()",
        "INSERT INTO payment (provider, payment_id, channel, order_ref, state, updated_at)
         SELECT 'stripe', 'P' || n, 'web', n::text, 'succeeded', now()",
        "INSERT INTO payment_report (provider, payment_id, verb, event_id, at)
         SELECT 'stripe', 'P' || n, 'succeeded', n::text, now()",
        "INSERT INTO refund_required (provider, payment_id, reason, event_id, at)
         SELECT 'stripe', 'P' || n, 'cancelled', n::text, now()",
        "INSERT INTO review_item (kind, cause, subject, detail, opened_at)
         SELECT 'oversold', n::text, '{}', '', now()",
        "INSERT INTO channel_item_map (sku, channel, external_id) SELECT 'sku' || n, 'ozon', n::text",
        "INSERT INTO publish_point
            (sku, channel, warehouse, external_id, external_warehouse_id, newest_version, available, desired_qty, told_version, told_qty, told_at,
             told_external_id, told_external_warehouse_id, flights, lease, lease_until, due_at, look_at)
         SELECT 'sku' || n, 'ozon', CASE WHEN n % 2 = 0 THEN 'main' ELSE 'far' END, n::text, 'w' || n % 2, 1, 1, n % 3, 1, 1, now(), n::text,
                'w' || n % 2, 1, CASE WHEN n % 100 = 0 THEN gen_random_uuid() END, CASE WHEN n % 100 = 0 THEN now() END,
                CASE WHEN n % 50 = 0 THEN now() END, CASE WHEN n % 70 = 0 THEN now() END",
        "INSERT INTO stock_push (sku, channel, warehouse, version, desired_qty, state, created_at)
         SELECT 'sku' || n, 'ozon', CASE WHEN n % 2 = 0 THEN 'main' ELSE 'far' END, 1, 1, CASE WHEN n % 50 = 0 THEN 'pending' ELSE 'accepted' END, now()",
        "INSERT INTO stock_confirmed (sku, channel, warehouse, confirmed_version, confirmed_qty, confirmed_at)
         SELECT 'sku' || n, 'ozon', CASE WHEN n % 2 = 0 THEN 'main' ELSE 'far' END, 1, 1, now()",
        "INSERT INTO push_attempt
            (sku, channel, warehouse, version, external_id, external_warehouse_id, qty, withdrawal, flight, lease, began_at, generation)
         SELECT 'sku' || n, 'ozon', CASE WHEN n % 2 = 0 THEN 'main' ELSE 'far' END, 1, n::text, 'w', 1, false, 1, gen_random_uuid(), now(), n % 4",
        "INSERT INTO stock_observation (sku, channel, warehouse, observed_qty, desired_qty, compared_version, verdict, at, generation)
         SELECT 'sku' || n, 'ozon', CASE WHEN n % 2 = 0 THEN 'main' ELSE 'far' END, 1, 1, 1, 'in_sync', now(), n % 4",
        "INSERT INTO waiting_message
            (channel, order_ref, stream, sequence, received_at, consumer, subject, event_id, headers, body, since)
         SELECT 'web', 'early' || n, 'ORDERS', n, now(), '', 'order.cancelled.web', n::text, '{}', '', now()",
    ];
    let mut connection = unhurried(db).await;
    for rows in rows {
        let statement = format!("{rows} FROM generate_series({from}, {to}) AS n");
        sqlx::query(AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
    }
    connection.close().await.unwrap();
}

/// On a connection of its own, so that no plan is kept from before.
async fn judge_all(when: &str, options: &sqlx::postgres::PgConnectOptions) {
    let mut connection = PgConnection::connect_with(options).await.unwrap();
    for statement in all() {
        let plan = plan_of(&mut connection, statement).await;
        judge(when, statement, &plan, false);
    }
}

/// As the audit asks: in its snapshot, with its settings.
async fn judge_audit(when: &str, options: &sqlx::postgres::PgConnectOptions) {
    let mut connection = PgConnection::connect_with(options).await.unwrap();
    let mut snapshot = audit::begin(&mut connection).await.unwrap();
    for statement in AUDIT.iter().chain(&WHY) {
        let plan = plan_of(&mut snapshot, statement).await;
        judge_sweep(when, statement, &plan, false);
    }
}

/// `again` is whether the node is read once for each row of another.
fn judge_sweep(when: &str, statement: &Statement, node: &Value, again: bool) {
    match node {
        Value::Array(nodes) => nodes.iter().for_each(|node| judge_sweep(when, statement, node, again)),
        Value::Object(fields) => {
            let is_growing = node["Relation Name"].as_str().is_some_and(|table| GROWING.contains(&table));
            let whole = is_growing && node["Index Cond"].is_null() && node["TID Cond"].is_null();
            assert!(!(whole && again), "{} on data {when} reads a table for every row\n{node:#}", statement.file);
            for plan in node["Plans"].as_array().into_iter().flatten() {
                let inner = node["Node Type"] == "Nested Loop" && plan["Parent Relationship"] == "Inner";
                judge_sweep(when, statement, plan, again || inner || plan["Parent Relationship"] == "SubPlan");
            }
            if let Some(plan) = fields.get("Plan") {
                judge_sweep(when, statement, plan, again);
            }
        }
        _ => {}
    }
}

async fn plan_of(connection: &mut PgConnection, statement: &Statement) -> Value {
    let Statement { file, types, .. } = statement;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store").join(format!("{file}.sql"));
    let text = fs::read_to_string(path).unwrap();
    let (types, nulls) = if types.is_empty() {
        (String::new(), String::new())
    } else {
        // Without a generation, or an instant to compare with, there would be no table in the plan.
        let value = |of: &str| match of.trim() {
            "smallint" => "0",
            "timestamptz" => "'2000-01-01'",
            _ => "NULL",
        };
        (format!("({types})"), format!("({})", types.split(',').map(value).collect::<Vec<_>>().join(", ")))
    };
    sqlx::raw_sql(AssertSqlSafe(format!("PREPARE {file} {types} AS {text}"))).execute(&mut *connection).await.unwrap();
    let explain = format!("EXPLAIN (FORMAT JSON, COSTS OFF) EXECUTE {file} {nulls}");
    sqlx::query_scalar(AssertSqlSafe(explain)).persistent(false).fetch_one(connection).await.unwrap()
}

/// `first` is whether only the first row of the node is taken.
fn judge(when: &str, statement: &Statement, node: &Value, first: bool) {
    match node {
        Value::Array(nodes) => nodes.iter().for_each(|node| judge(when, statement, node, first)),
        Value::Object(fields) => {
            let kind = node["Node Type"].as_str().unwrap_or_default();
            if let Some(table) = node["Relation Name"].as_str().map(whole).filter(|table| GROWING.contains(table))
                && kind != "ModifyTable"
                // The tables that a partitioned one writes to are named without a node of their own.
                && !kind.is_empty()
            {
                let condition = node["Index Cond"].as_str().unwrap_or_default();
                let mut finds = statement.finds.iter().filter(|(found, _)| *found == table);
                let bounded = finds.any(|(_, columns)| columns.iter().all(|column| names(condition, column)));
                let only_first = first && node["Filter"].is_null();
                assert!(bounded || only_first, "{} on data {when}: {kind} of {table}\n{node:#}", statement.file);
            }
            // Of what is merged in order the first is the first of each.
            let first = kind == "Limit" || first && kind == "Merge Append";
            fields.values().for_each(|node| judge(when, statement, node, first));
        }
        _ => {}
    }
}

/// The table that a table is a generation of, or itself.
fn whole(table: &str) -> &str {
    table.trim_end_matches(|last: char| last.is_ascii_digit()).trim_end_matches('_')
}

/// Whether a condition bounds the column.
fn names(condition: &str, column: &str) -> bool {
    condition.contains(&format!("({column} ")) || condition.contains(&format!("({column})::"))
}
