-- One row a stream, under the locks: the order of ids is the order of commits for whatever two transactions both touch.
INSERT INTO outbox (stream, entries, written_at, generation)
SELECT told.stream, told.entries, $3, generation.number
FROM generation
CROSS JOIN unnest($1::text[], $2::bytea[]) AS told (stream, entries)
WHERE generation.kept = 'outbox' AND generation.current
