UPDATE dead_letter SET resolved_at = $2
FROM unnest($1::bigint[]) AS replayed (id)
WHERE dead_letter.id = replayed.id AND dead_letter.resolved_at IS NULL
