-- Replayed, kept waiting and so resolved, and refused when what it had waited for came: open again. A message that waits has no other row.
UPDATE dead_letter SET reason = refused.reason, detail = refused.detail, opened_at = $6, resolved_at = NULL
FROM unnest($1::text[], $2::bigint[], $3::timestamptz[], $4::text[], $5::text[])
    AS refused (stream, sequence, received_at, reason, detail)
WHERE dead_letter.stream = refused.stream AND dead_letter.sequence = refused.sequence
    AND dead_letter.received_at = refused.received_at
RETURNING dead_letter.id
