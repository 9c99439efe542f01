-- A refused event never counts as processed.
DELETE FROM processed_event
USING unnest($1::text[], $2::text[]) AS refused (subject, event_id)
WHERE processed_event.subject = refused.subject AND processed_event.event_id = refused.event_id
