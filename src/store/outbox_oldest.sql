SELECT written_at FROM outbox ORDER BY id LIMIT 1
