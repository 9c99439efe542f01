SELECT id, event_id, stream, sequence, consumer, subject, reason, detail, headers, body
FROM dead_letter WHERE id = ANY ($1::bigint[])
