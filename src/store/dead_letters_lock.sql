-- Those of the rows that are still open, locked: of two replays of one row, the later waits here and finds it resolved.
SELECT dead_letter.id
FROM unnest($1::bigint[]) AS replayed (id)
JOIN dead_letter ON dead_letter.id = replayed.id AND dead_letter.resolved_at IS NULL
ORDER BY dead_letter.id
FOR NO KEY UPDATE OF dead_letter
