-- What waits for these orders, oldest first. It changes only under the order's lock, which is held.
SELECT
    waiting.id, waiting.stream, waiting.sequence, waiting.received_at, waiting.consumer, waiting.subject, waiting.headers, waiting.body
FROM unnest($1::text[], $2::text[]) AS named (channel, order_ref)
JOIN waiting_message AS waiting ON waiting.channel = named.channel AND waiting.order_ref = named.order_ref
ORDER BY waiting.id
