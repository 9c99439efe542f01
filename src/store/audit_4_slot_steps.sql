-- Invariant 4, for slots: each step of the journal begins where the one before it ended, and is an edge of the table of states, which is given.
WITH edge AS MATERIALIZED (
    -- From which state (none at first) to which.
    SELECT coalesce(from_state, '') AS from_state, to_state
    FROM unnest($1::text[], $2::text[]) AS given (from_state, to_state)
),
step AS (
    -- Steps in their order, each with the state that the one before it left; none before the first.
    SELECT
        slot_hold_id, id, resource, from_state, to_state,
        lag(to_state) OVER (PARTITION BY slot_hold_id ORDER BY id) AS state_before
    FROM slot_event
)
SELECT
    slot_hold_id, id AS step_id, resource,
    CASE
        WHEN from_state IS DISTINCT FROM state_before THEN format('a step from %s', coalesce(state_before, 'nothing'))
        ELSE 'a step that the states allow'
    END AS expected,
    format('from %s to %s', coalesce(from_state, 'nothing'), to_state) AS found
FROM step
WHERE from_state IS DISTINCT FROM state_before
    OR (coalesce(from_state, ''), to_state) NOT IN (SELECT edge.from_state, edge.to_state FROM edge)
ORDER BY slot_hold_id, id
