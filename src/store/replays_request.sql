-- Ids and instants follow one another but for the length of a transaction: the first thousands from the instant on hold the lowest id.
WITH first_rows AS (
    SELECT id FROM outbox WHERE written_at >= $2 ORDER BY written_at LIMIT 10000
), bounds AS (
    SELECT (SELECT min(id) FROM first_rows) AS first_id, (SELECT max(id) FROM outbox) AS last_id
)
INSERT INTO outbox_replay (stream, since, told_to, last_id, requested_at)
SELECT $1, $2, coalesce(first_id, last_id + 1, 1) - 1, coalesce(last_id, 0), clock_timestamp()
FROM bounds
RETURNING id
