-- Invariant 6: what waits, waits for something that can come: an order whose key is claimed and that has not come, or a review that is open; a
-- parcel also for an order that is held. All else would wait for ever.
SELECT
    waiting.stream, waiting.sequence, waiting.subject, waiting.event_id, waiting.channel, waiting.order_ref,
    CASE
        WHEN waiting.review_id IS NOT NULL THEN format('review %s, open', waiting.review_id)
        WHEN sales_order.state IS NULL THEN 'the claimed order it waits for'
        ELSE 'an order that it has to wait for'
    END AS expected,
    CASE WHEN sales_order.state IS NULL THEN 'none' ELSE format('an order that is %s', sales_order.state) END AS found
FROM waiting_message AS waiting
LEFT JOIN sales_order ON sales_order.order_ref = waiting.order_ref AND sales_order.channel = waiting.channel
LEFT JOIN review_item ON review_item.id = waiting.review_id AND review_item.resolved_at IS NULL
WHERE review_item.id IS NULL
    AND sales_order.state IS DISTINCT FROM 'awaited'
    AND NOT coalesce(sales_order.state = 'held' AND starts_with(waiting.subject, 'shipment.'), false)
ORDER BY waiting.id
