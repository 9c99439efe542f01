-- Steps of slots. Ids are taken in the order of the arrays, under the locks.
INSERT INTO slot_event (slot_hold_id, resource, during, from_state, to_state, reason, event_id, at)
SELECT
    step.slot_hold_id, step.resource, tstzrange(step.begins, step.ends), step.from_state, step.to_state, step.reason, step.event_id,
    $9
FROM unnest(
    $1::bigint[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::text[], $6::text[], $7::text[], $8::text[]
) AS step (slot_hold_id, resource, begins, ends, from_state, to_state, reason, event_id)
