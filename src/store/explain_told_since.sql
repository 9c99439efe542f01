-- What was told since an instant, the oldest first.
SELECT id, entries, sent_at
FROM outbox
WHERE written_at >= $1 AND stream = 'RESERVATIONS'
ORDER BY written_at, id
