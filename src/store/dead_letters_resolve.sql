-- They are locked, and were open then.
UPDATE dead_letter SET resolved_at = $2
FROM unnest($1::bigint[]) AS replayed (id)
WHERE dead_letter.id = replayed.id
