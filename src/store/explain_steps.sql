-- Every step of these lines, in order.
SELECT
    step.id, step.reservation_id, step.sku, step.warehouse, step.from_state, step.to_state, step.qty, step.reason, step.event_id, step.at
FROM unnest($1::bigint[]) AS line (id)
JOIN reservation_event AS step ON step.reservation_id = line.id
ORDER BY step.id
