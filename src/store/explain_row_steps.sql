-- The steps of the journal that changed what is reserved of a row, up to an instant: the last of them, each with the sum of all up to it, and how
-- many there are. The journal has no index by row: it is read whole, once.
WITH step AS (
    SELECT
        id, reservation_id, at, qty, from_state, to_state, reason, event_id,
        (sum(qty) OVER (ORDER BY id))::bigint AS after,
        count(*) OVER () AS rows
    FROM reservation_event
    WHERE sku = $1 AND warehouse = $2 AND at <= $3 AND qty <> 0
),
last_steps AS MATERIALIZED (
    SELECT * FROM step ORDER BY id DESC LIMIT $4
)
SELECT
    last_steps.id, last_steps.at, last_steps.qty, last_steps.from_state, last_steps.to_state, last_steps.reason, last_steps.event_id,
    last_steps.after, last_steps.rows, line.channel, line.order_ref
FROM last_steps
JOIN reservation AS line ON line.id = last_steps.reservation_id
ORDER BY last_steps.id DESC
