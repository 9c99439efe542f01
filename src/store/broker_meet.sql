-- What is met for the first time, and how far streams have grown since they were last looked at.
WITH seen AS MATERIALIZED (
    SELECT * FROM unnest($1::text[], $2::timestamptz[], $3::bigint[]) AS seen (name, made_at, last_seq)
), grown AS (
    UPDATE broker_object SET last_seq = seen.last_seq
    FROM seen
    WHERE broker_object.name = seen.name AND broker_object.made_at = seen.made_at
        AND broker_object.last_seq < seen.last_seq
)
INSERT INTO broker_object (name, made_at, last_seq)
SELECT name, made_at, last_seq FROM seen
ON CONFLICT DO NOTHING
