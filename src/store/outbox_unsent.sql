SELECT id, entries FROM outbox WHERE stream = $1 AND id > $2 AND sent_at IS NULL ORDER BY id LIMIT $3
