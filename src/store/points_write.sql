-- Writes points back whose rows are locked.
UPDATE publish_point AS point
SET external_id = new.external_id, external_warehouse_id = new.external_warehouse_id, newest_version = new.newest_version,
    available = new.available, desired_qty = new.desired_qty, told_version = new.told_version, told_qty = new.told_qty, told_at = new.told_at,
    told_external_id = new.told_external_id, told_external_warehouse_id = new.told_external_warehouse_id, free_at = new.free_at,
    flights = new.flights, lease = new.lease, lease_until = new.lease_until, due_at = new.due_at, look_at = new.look_at,
    failures = new.failures, heals = new.heals, repeats = new.repeats, refused = new.refused, low_since = new.low_since, call_max = new.call_max, parked = new.parked,
    shown_qty = new.shown_qty, exposed_units = new.exposed_units, exposed_since = new.exposed_since
FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[],
    $11::timestamptz[], $12::text[], $13::text[], $14::timestamptz[], $15::bigint[], $16::uuid[], $17::timestamptz[], $18::timestamptz[],
    $19::timestamptz[], $20::integer[], $21::integer[], $22::timestamptz[], $23::integer[], $24::text[], $25::bigint[], $26::bigint[],
    $27::timestamptz[], $28::bigint[], $29::boolean[]
) AS new (
    sku, channel, warehouse, external_id, external_warehouse_id, newest_version, available, desired_qty, told_version, told_qty, told_at,
    told_external_id, told_external_warehouse_id, free_at, flights, lease, lease_until, due_at, look_at, failures, heals, low_since, call_max,
    parked, shown_qty, exposed_units, exposed_since, repeats, refused
)
WHERE point.sku = new.sku AND point.channel = new.channel AND point.warehouse = new.warehouse
