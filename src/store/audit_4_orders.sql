-- Invariant 4, for orders: an order is in the first state, by the precedence that is given, that any of its lines has; a rejected or awaited one
-- has no lines. Joined in full: a line without its order is found here.
WITH lines AS (
    SELECT channel, order_ref, ($1::text[])[min(array_position($1::text[], state))] AS state, min(id) AS first_id
    FROM reservation
    GROUP BY order_ref, channel
)
SELECT
    channel, order_ref,
    CASE WHEN sales_order.state IS NULL THEN lines.first_id END AS reservation_id,
    CASE
        WHEN sales_order.state IS NULL THEN 'the order of this reservation'
        ELSE coalesce(lines.state || ', as its lines have it', 'lines')
    END AS expected,
    CASE WHEN lines.state IS NULL OR sales_order.state IS NULL THEN 'none' ELSE sales_order.state END AS found
FROM sales_order
FULL JOIN lines USING (order_ref, channel)
WHERE CASE
    WHEN sales_order.state IN ('rejected', 'awaited') THEN lines.state IS NOT NULL
    ELSE sales_order.state IS DISTINCT FROM lines.state
END
ORDER BY order_ref, channel
