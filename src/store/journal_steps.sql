-- Ids are taken in the order of the arrays, under the locks.
INSERT INTO reservation_event (reservation_id, sku, warehouse, from_state, to_state, qty, reason, event_id, at)
SELECT step.reservation_id, step.sku, step.warehouse, step.from_state, step.to_state, step.qty, step.reason, step.event_id, $9
FROM unnest(
    $1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[]
) AS step (reservation_id, sku, warehouse, from_state, to_state, qty, reason, event_id)
