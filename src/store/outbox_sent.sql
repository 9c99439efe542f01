UPDATE outbox SET sent_at = clock_timestamp() WHERE id = ANY ($1::bigint[])
