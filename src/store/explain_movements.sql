-- The movements of a row up to an instant: the last of them, each with the sum of all up to it, and how many there are.
WITH moved AS (
    SELECT
        id, at, delta, kind, event_id,
        (sum(delta) OVER (ORDER BY id))::bigint AS after,
        count(*) OVER () AS rows
    FROM stock_movement
    WHERE sku = $1 AND warehouse = $2 AND at <= $3
)
SELECT id, at, delta, kind, event_id, after, rows FROM moved ORDER BY id DESC LIMIT $4
