INSERT INTO reservation (
    id, channel, order_ref, sku, warehouse, qty, shipped_qty, returned_qty, state, named, cancelled, expires_at, created_at
)
SELECT
    line.id, line.channel, line.order_ref, line.sku, line.warehouse, line.qty, line.shipped_qty, line.returned_qty, line.state, line.named, line.cancelled,
    line.expires_at, $11
FROM unnest(
    $1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::boolean[], $9::boolean[],
    $10::timestamptz[], $12::bigint[], $13::bigint[]
) AS line (id, channel, order_ref, sku, warehouse, qty, state, named, cancelled, expires_at, shipped_qty, returned_qty)
