-- What was, and what became, of slots that were in somebody's way at a moment: before the instant $7, or at it among the first steps that the slot
-- took in that batch.
WITH denied AS (
    SELECT place, steps, hold.id, hold.state, hold.channel, hold.order_ref
    FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::bigint[])
        WITH ORDINALITY AS denied (channel, order_ref, resource, begins, ends, steps, place)
    JOIN slot_hold AS hold
        ON hold.order_ref = denied.order_ref AND hold.channel = denied.channel AND hold.resource = denied.resource
        AND hold.during = tstzrange(denied.begins, denied.ends)
),
step AS (
    -- Every step of them, and whether it was taken by then.
    SELECT
        denied.place, event.id, event.at, event.from_state, event.to_state, event.reason,
        event.at < $7 OR event.at = $7
            AND count(*) FILTER (WHERE event.at = $7) OVER (PARTITION BY denied.place ORDER BY event.id) <= denied.steps AS taken
    FROM denied
    JOIN slot_event AS event ON event.slot_hold_id = denied.id
)
SELECT
    denied.place - 1 AS place, then_.to_state AS state_then, since.at AS since, denied.state AS state_now, orders.expires_at,
    later.at AS ended_at, later.to_state AS ended_as, later.reason AS ended_why
FROM denied
JOIN sales_order AS orders ON orders.order_ref = denied.order_ref AND orders.channel = denied.channel
-- The last step by then.
CROSS JOIN LATERAL (
    SELECT step.to_state FROM step WHERE step.place = denied.place AND step.taken ORDER BY step.id DESC LIMIT 1
) AS then_
-- The last by then with which the order got it.
CROSS JOIN LATERAL (
    SELECT step.at FROM step
    WHERE step.place = denied.place AND step.taken AND (step.from_state IS NULL OR step.from_state IN ('expired', 'released'))
    ORDER BY step.id DESC LIMIT 1
) AS since
-- The first after that moment with which it was given back.
LEFT JOIN LATERAL (
    SELECT step.at, step.to_state, step.reason FROM step
    WHERE step.place = denied.place AND NOT step.taken AND step.to_state IN ('expired', 'released')
    ORDER BY step.id LIMIT 1
) AS later ON true
ORDER BY denied.place
