SELECT id, entries FROM outbox WHERE stream = $1 AND sent_at IS NULL ORDER BY id LIMIT $2
