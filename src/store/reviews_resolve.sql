-- They are locked, and were open then. What is told of it comes back.
UPDATE review_item
SET resolved_at = $4, resolved_by = answer.resolved_by, note = answer.note
FROM unnest($1::bigint[], $2::text[], $3::text[]) AS answer (id, resolved_by, note)
WHERE review_item.id = answer.id
RETURNING
    review_item.id, review_item.kind, review_item.subject, review_item.detail, review_item.opened_at, review_item.resolved_at,
    review_item.resolved_by, review_item.note
