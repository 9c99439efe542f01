-- Lets go of dead letters resolved long enough ago, a bounded number. A row of the outbox that tells of one bears the instant at which it
-- was opened, or a later one before it was resolved: as long as the outbox has a row that old, the letter stays.
WITH told AS MATERIALIZED (
    SELECT min(written_at) AS since FROM outbox WHERE stream = 'DEAD'
),
done AS MATERIALIZED (
    SELECT letter.id
    FROM dead_letter AS letter
    CROSS JOIN told
    WHERE
        letter.resolved_at < statement_timestamp() - make_interval(secs => $1::double precision)
        AND (told.since IS NULL OR greatest(letter.opened_at, letter.resolved_at) < told.since)
    ORDER BY letter.resolved_at
    LIMIT $2
    FOR UPDATE OF letter SKIP LOCKED
)
DELETE FROM dead_letter USING done WHERE dead_letter.id = done.id
