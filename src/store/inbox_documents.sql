-- The documents, among those named, that are taken.
SELECT taken.subject, taken.document_ref, taken.digest
FROM unnest($1::text[], $2::text[]) AS named (subject, document_ref)
JOIN inventory_document AS taken ON taken.subject = named.subject AND taken.document_ref = named.document_ref
