-- Rows that were told, after one and up to another.
SELECT id, entries
FROM outbox
WHERE id > $2 AND id <= $3 AND stream = $1 AND sent_at IS NOT NULL AND written_at >= $4
ORDER BY id
LIMIT $5
