-- A page in order of id, without headers and bodies. A null matches everything.
SELECT id, subject, reason, detail, stream, sequence, received_at, opened_at, resolved_at
FROM dead_letter
WHERE id > $1
    AND ($2 OR resolved_at IS NULL)
    AND ($3::text IS NULL OR reason = $3)
    AND ($4::timestamptz IS NULL OR opened_at >= $4)
    AND ($5::timestamptz IS NULL OR opened_at < $5)
ORDER BY id
LIMIT $6
