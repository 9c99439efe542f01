-- Ids are taken in the order of the arrays, under the locks.
INSERT INTO stock_movement (sku, warehouse, delta, kind, event_id, at)
SELECT movement.sku, movement.warehouse, movement.delta, movement.kind, movement.event_id, $6
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[])
    AS movement (sku, warehouse, delta, kind, event_id)
