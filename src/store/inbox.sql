-- Claims events: one row each in the current generation, and only the rows that are new come back. Whoever else is claiming the same event
-- right now is waited for. What an older generation has was committed before it became an older one, and no rotation happens now: so a look
-- is enough there. What still waits counts however long ago it came.
WITH present AS MATERIALIZED (
    -- One row also if none were current: then the insert fails, where no row would look like nothing new.
    SELECT (SELECT number FROM generation WHERE kept = 'inbox' AND current) AS generation
)
INSERT INTO processed_event (subject, event_id, at, generation)
SELECT claim.subject, claim.event_id, clock_timestamp(), present.generation
FROM present
CROSS JOIN unnest($1::text[], $2::text[]) AS claim (subject, event_id)
WHERE
    NOT EXISTS (
        SELECT FROM processed_event AS older
        WHERE
            older.subject = claim.subject AND older.event_id = claim.event_id
            AND older.generation <> present.generation
    )
    AND NOT EXISTS (
        SELECT FROM waiting_message AS waiting
        WHERE waiting.subject = claim.subject AND waiting.event_id = claim.event_id
    )
ON CONFLICT DO NOTHING
RETURNING subject, event_id
