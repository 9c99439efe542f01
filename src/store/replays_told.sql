-- With what the broker acknowledged last, as every telling.
WITH remembered AS (
    UPDATE broker_object SET last_seq = $4 WHERE name = $3 AND last_seq < $4 AND epoch = $6
)
UPDATE outbox_replay SET told_to = $2, told_rows = told_rows + $5 WHERE id = $1
