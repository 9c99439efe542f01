-- Dead letters in whose body the reference stands; whether it is this order's is read from the body.
SELECT id, stream, sequence, received_at, subject, reason, detail, headers, body, opened_at, resolved_at
FROM dead_letter
WHERE position($1::bytea IN body) > 0
ORDER BY id
