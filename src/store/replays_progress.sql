SELECT stream, told_rows, told_to, last_id, done_at IS NOT NULL AS done
FROM outbox_replay WHERE id = ANY ($1::bigint[]) ORDER BY id
