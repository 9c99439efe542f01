-- Claims events: one row each, and only the rows that are new come back. Whoever else is claiming the same event right now is waited for.
INSERT INTO processed_event (subject, event_id, at)
SELECT claim.subject, claim.event_id, clock_timestamp()
FROM unnest($1::text[], $2::text[]) AS claim (subject, event_id)
ON CONFLICT DO NOTHING
RETURNING subject, event_id
