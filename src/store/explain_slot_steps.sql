-- Every step of these slots, in order.
SELECT
    step.id, step.slot_hold_id, step.resource, lower(step.during) AS begins, upper(step.during) AS ends, step.from_state, step.to_state,
    step.reason, step.event_id, step.at
FROM unnest($1::bigint[]) AS hold (id)
JOIN slot_event AS step ON step.slot_hold_id = hold.id
ORDER BY step.id
