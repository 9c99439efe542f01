-- And what the broker acknowledged last in the stream.
WITH remembered AS (
    UPDATE broker_object SET last_seq = $3 WHERE name = $2 AND last_seq < $3 AND epoch = $4
)
UPDATE outbox SET sent_at = clock_timestamp() WHERE id = ANY ($1::bigint[])
