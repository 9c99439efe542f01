-- Invariant 4: each step of the journal begins where the one before it ended, and is an edge of the table of states, which is given.
WITH edge AS MATERIALIZED (
    -- From which state (none at first) to which, and the sign of the change of reserved.
    SELECT coalesce(from_state, '') AS from_state, to_state, sign
    FROM unnest($1::text[], $2::text[], $3::int[]) AS given (from_state, to_state, sign)
),
step AS (
    -- Steps in their order, each with the state that the one before it left; none before the first.
    SELECT
        reservation_id, id, sku, warehouse, from_state, to_state, qty,
        lag(to_state) OVER (PARTITION BY reservation_id ORDER BY id) AS state_before
    FROM reservation_event
)
SELECT
    reservation_id, id AS step_id, sku, warehouse,
    CASE
        WHEN from_state IS DISTINCT FROM state_before THEN format('a step from %s', coalesce(state_before, 'nothing'))
        ELSE 'a step that the states allow'
    END AS expected,
    format('from %s to %s, reserved by %s', coalesce(from_state, 'nothing'), to_state, qty) AS found
FROM step
WHERE from_state IS DISTINCT FROM state_before
    OR (coalesce(from_state, ''), to_state, (qty > 0)::int - (qty < 0)::int)
        NOT IN (SELECT edge.from_state, edge.to_state, edge.sign FROM edge)
ORDER BY reservation_id, id
