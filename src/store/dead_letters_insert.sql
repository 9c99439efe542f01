-- A redelivered message that was refused before is the same dead letter: only new ones come back, with their place in the arrays.
WITH refused AS MATERIALIZED (
    SELECT *
    FROM unnest(
        $1::uuid[], $2::text[], $3::bigint[], $4::timestamptz[], $5::text[], $6::text[], $7::text[], $8::text[], $9::jsonb[], $10::bytea[]
    ) AS refused (event_id, stream, sequence, received_at, consumer, subject, reason, detail, headers, body)
)
INSERT INTO dead_letter (
    event_id, stream, sequence, received_at, consumer, subject, reason, detail, headers, body, opened_at
)
SELECT event_id, stream, sequence, received_at, consumer, subject, reason, detail, headers, body, $11
FROM refused
ON CONFLICT DO NOTHING
RETURNING id
