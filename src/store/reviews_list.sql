-- A page in order of id. A null matches everything.
SELECT id, kind, subject, detail, opened_at, resolved_at, resolved_by, note
FROM review_item
WHERE id > $1
    AND ($2 OR resolved_at IS NULL)
    AND ($3::text IS NULL OR kind = $3)
ORDER BY id
LIMIT $4
