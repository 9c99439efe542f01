-- Reviews about the order, or about one of its events.
SELECT id, kind, detail, opened_at, resolved_at, resolved_by, note
FROM review_item
WHERE
    (subject ->> 'channel' = $1 AND subject ->> 'order_ref' = $2)
    OR (subject ->> 'subject' || chr(9) || (subject ->> 'event_id')) = ANY ($3::text[])
ORDER BY id
