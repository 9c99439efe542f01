-- Events that were recognised are remembered from now on for as long as new ones: else one that is sent again and again would be forgotten
-- while its last message still stands in the stream. Taken out and put in again instead of moved: of two who renew one event the later finds
-- nothing left to do, where a row that has just left its partition would be an error.
WITH present AS MATERIALIZED (
    SELECT number AS generation FROM generation WHERE kept = 'inbox' AND current
),
older AS (
    DELETE FROM processed_event AS known
    USING present, unnest($1::text[], $2::text[]) AS seen (subject, event_id)
    WHERE known.subject = seen.subject AND known.event_id = seen.event_id AND known.generation <> present.generation
    RETURNING known.subject, known.event_id, known.at
)
INSERT INTO processed_event (subject, event_id, at, generation)
SELECT older.subject, older.event_id, older.at, present.generation
FROM older
CROSS JOIN present
ON CONFLICT DO NOTHING
