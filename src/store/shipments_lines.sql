-- Ids are taken in the order of the arrays, under the locks.
INSERT INTO parcel_line (reservation_id, sku, warehouse, kind, qty, event_id, at)
SELECT line.reservation_id, line.sku, line.warehouse, line.kind, line.qty, line.event_id, $7
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[])
    AS line (reservation_id, sku, warehouse, kind, qty, event_id)
