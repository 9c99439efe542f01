SELECT id, since, told_to, last_id FROM outbox_replay WHERE stream = $1 AND done_at IS NULL ORDER BY id LIMIT 1
