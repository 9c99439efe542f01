SELECT id, kind, subject, detail, opened_at, resolved_at, resolved_by, note
FROM review_item WHERE id = $1
