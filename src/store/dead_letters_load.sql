SELECT id, event_id, stream, sequence, received_at, consumer, subject, reason, detail, headers, body, opened_at, resolved_at
FROM dead_letter WHERE id = ANY ($1::bigint[]) ORDER BY id
