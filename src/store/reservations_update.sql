-- New columns for lines, each only if it is still as it was decided on.
UPDATE reservation
SET state = change.after,
    warehouse = change.warehouse,
    qty = change.qty,
    shipped_qty = change.shipped_qty,
    returned_qty = change.returned_qty,
    cancelled = change.cancelled,
    expires_at = coalesce(change.expires_at, reservation.expires_at)
FROM unnest(
    $1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::boolean[], $8::timestamptz[],
    $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[]
) AS change (
    id, before, qty_before, after, warehouse, qty, cancelled, expires_at, shipped_before, returned_before, shipped_qty, returned_qty
)
WHERE reservation.id = change.id
    AND reservation.state = change.before
    AND reservation.qty = change.qty_before
    AND reservation.shipped_qty = change.shipped_before
    AND reservation.returned_qty = change.returned_before
