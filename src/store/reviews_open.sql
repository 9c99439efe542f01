-- One review is open per kind and cause. Where it is open already its row comes back too, marked as not new: a fresh row has no xmax.
INSERT INTO review_item (kind, cause, subject, detail, opened_at)
SELECT question.kind, question.cause, question.subject, question.detail, $5
FROM unnest($1::text[], $2::text[], $3::jsonb[], $4::text[]) AS question (kind, cause, subject, detail)
ON CONFLICT (kind, cause) WHERE resolved_at IS NULL DO UPDATE SET detail = EXCLUDED.detail
RETURNING id, kind, cause, xmax = 0
