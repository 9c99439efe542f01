-- Invariant 6: what waits, waits for something that can come: an order whose key is claimed, or a review that is open. All else would wait for
-- ever.
SELECT
    waiting.stream, waiting.sequence, waiting.subject, waiting.event_id, waiting.channel, waiting.order_ref,
    CASE WHEN waiting.review_id IS NULL THEN 'the claimed order it waits for' ELSE format('review %s, open', waiting.review_id) END
        AS expected,
    'none' AS found
FROM waiting_message AS waiting
LEFT JOIN sales_order ON sales_order.order_ref = waiting.order_ref AND sales_order.channel = waiting.channel
LEFT JOIN review_item ON review_item.id = waiting.review_id AND review_item.resolved_at IS NULL
WHERE sales_order.order_ref IS NULL AND review_item.id IS NULL
ORDER BY waiting.id
