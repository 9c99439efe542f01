-- What was told of decisions at these instants: an outbox row bears the instant of its batch.
SELECT outbox.id, outbox.entries, outbox.sent_at
FROM unnest($1::timestamptz[]) AS decided (at)
JOIN outbox ON outbox.written_at = decided.at
WHERE outbox.stream = 'RESERVATIONS'
