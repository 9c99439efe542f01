-- What became of these messages. An event was taken if it stands in the inbox, or if its order bears it; a message is dead or waits by its own
-- place. Lateral, so that each message costs a few look-ups whatever the tables hold.
SELECT coalesce(processed.at, created.created_at) AS taken_at, waiting.id IS NOT NULL AS waits, dead.open AS dead_and_open, dead.opened_at AS died_at
FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::timestamptz[]) WITH ORDINALITY
    AS message (subject, event_id, channel, order_ref, sequence, received_at, place)
LEFT JOIN LATERAL (
    SELECT at FROM processed_event
    WHERE processed_event.subject = message.subject AND processed_event.event_id = message.event_id
    LIMIT 1
) AS processed ON true
LEFT JOIN LATERAL (
    SELECT created_at FROM sales_order
    WHERE sales_order.order_ref = message.order_ref AND sales_order.channel = message.channel
        AND sales_order.event_id = message.event_id
    LIMIT 1
) AS created ON true
LEFT JOIN LATERAL (
    SELECT id FROM waiting_message
    WHERE waiting_message.subject = message.subject AND waiting_message.event_id = message.event_id
    LIMIT 1
) AS waiting ON true
LEFT JOIN LATERAL (
    SELECT resolved_at IS NULL AS open, opened_at FROM dead_letter
    WHERE dead_letter.stream = $1 AND dead_letter.sequence = message.sequence AND dead_letter.received_at = message.received_at
    LIMIT 1
) AS dead ON true
ORDER BY message.place
