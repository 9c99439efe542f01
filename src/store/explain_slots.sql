-- The order's slots.
SELECT id, resource, lower(during) AS begins, upper(during) AS ends, state, cancelled
FROM slot_hold
WHERE channel = $1 AND order_ref = $2
ORDER BY id
