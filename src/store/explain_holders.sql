-- Who had units of these rows at a moment: before the instant $4, or at it among the first of the batch's steps that changed the row. The journal
-- has no index by row, as that would cost every order an entry: it is read whole, once.
WITH denied AS (
    SELECT place, sku, warehouse, steps
    FROM unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY AS denied (sku, warehouse, steps, place)
),
step AS MATERIALIZED (
    -- By itself, so that the journal is read once and not for every row, however few steps the planner expects before that instant.
    SELECT reservation_id, id, sku, warehouse, qty, at
    FROM reservation_event
    WHERE at <= $4 AND sku = ANY ($1::text[])
),
earlier AS MATERIALIZED (
    -- Every step on those rows up to that instant; for those at it, which of the batch's they are.
    SELECT
        denied.place, denied.steps, step.reservation_id, step.id, step.qty, step.at,
        count(*) FILTER (WHERE step.at = $4 AND step.qty <> 0) OVER (PARTITION BY denied.place ORDER BY step.id) AS of_the_batch
    FROM denied
    JOIN step ON step.sku = denied.sku AND step.warehouse = denied.warehouse
),
holder AS (
    -- Lines that had units then.
    SELECT
        place, reservation_id, sum(qty)::bigint AS units, max(id) AS last_step,
        max(at) FILTER (WHERE qty > 0) AS since, max(id) FILTER (WHERE qty > 0) AS taken
    FROM earlier
    WHERE at < $4 OR of_the_batch <= steps
    GROUP BY place, reservation_id
    HAVING sum(qty) > 0
),
counted AS (
    SELECT
        holder.*,
        row_number() OVER (PARTITION BY place ORDER BY taken DESC) AS nth,
        count(*) OVER (PARTITION BY place) AS holders,
        (sum(units) OVER (PARTITION BY place))::bigint AS units_of_all
    FROM holder
)
SELECT
    counted.place - 1 AS place, counted.units, counted.since, counted.holders, counted.units_of_all,
    line.channel, line.order_ref, line.state AS state_now, then_.to_state AS state_then,
    orders.expires_at, later.at AS ended_at, later.to_state AS ended_as, later.reason AS ended_why
FROM counted
JOIN reservation AS line ON line.id = counted.reservation_id
JOIN reservation_event AS then_ ON then_.reservation_id = counted.reservation_id AND then_.id = counted.last_step
JOIN sales_order AS orders ON orders.order_ref = line.order_ref AND orders.channel = line.channel
-- The first step after that moment with which units went back, or out.
LEFT JOIN LATERAL (
    SELECT step.at, step.to_state, step.reason
    FROM reservation_event AS step
    WHERE step.reservation_id = counted.reservation_id AND step.id > counted.last_step AND step.qty < 0
    ORDER BY step.id LIMIT 1
) AS later ON true
WHERE counted.nth <= $5
ORDER BY counted.place, counted.nth
