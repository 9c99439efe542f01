-- Replayed, kept waiting and so resolved, and refused when what it had waited for came: open again.
UPDATE dead_letter SET reason = refused.reason, detail = refused.detail, opened_at = $6, resolved_at = NULL
FROM unnest($1::text[], $2::bigint[], $3::timestamptz[], $4::text[], $5::text[])
    AS refused (stream, sequence, received_at, reason, detail)
WHERE dead_letter.stream = refused.stream AND dead_letter.sequence = refused.sequence
    AND dead_letter.received_at = refused.received_at AND dead_letter.resolved_at IS NOT NULL
RETURNING dead_letter.id
