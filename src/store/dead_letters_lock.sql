-- Locks rows, and tells which are resolved: of two replays of one row, the later waits here and finds it so. A condition would have the index of
-- open rows read whole.
SELECT dead_letter.id, dead_letter.resolved_at IS NOT NULL AS resolved
FROM unnest($1::bigint[]) AS replayed (id)
JOIN dead_letter ON dead_letter.id = replayed.id
ORDER BY dead_letter.id
FOR NO KEY UPDATE OF dead_letter
