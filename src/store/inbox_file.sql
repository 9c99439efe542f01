-- Takes documents. One that somebody else took meanwhile is not changed, and the count says so.
INSERT INTO inventory_document (subject, document_ref, digest, event_id, at)
SELECT filed.subject, filed.document_ref, filed.digest, filed.event_id, $5
FROM unnest($1::text[], $2::text[], $3::bytea[], $4::text[]) AS filed (subject, document_ref, digest, event_id)
ON CONFLICT DO NOTHING
