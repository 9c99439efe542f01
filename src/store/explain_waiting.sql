-- What waits for the order.
SELECT id, stream, sequence, received_at, subject, event_id, since, overdue
FROM waiting_message
WHERE channel = $1 AND order_ref = $2
ORDER BY id
