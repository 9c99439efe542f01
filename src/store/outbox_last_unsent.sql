SELECT max(id) FROM outbox WHERE stream = $1 AND sent_at IS NULL
