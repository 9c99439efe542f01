-- Replayed and refused again: the same row, open since it was, for what it is refused for now. They are locked, and were open then.
UPDATE dead_letter SET reason = replayed.reason, detail = replayed.detail
FROM unnest($1::bigint[], $2::text[], $3::text[]) AS replayed (id, reason, detail)
WHERE dead_letter.id = replayed.id
