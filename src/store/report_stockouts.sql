-- Orders made since then that could not have what they asked for, by SKU and channel: how many units each lacked at the shelf that had most, and
-- which of them the channel had sold already. Of an order with several rows for a SKU (a warehouse each) the one counts that lacked least.
WITH oversold AS MATERIALIZED (
    SELECT DISTINCT subject ->> 'channel' AS channel, subject ->> 'order_ref' AS order_ref
    FROM review_item
    WHERE kind = 'oversold'
),
denied AS MATERIALIZED (
    SELECT orders.channel, orders.order_ref, shelf.sku, min(shelf.requested - (shelf.on_hand - shelf.reserved)) AS short
    FROM sales_order AS orders
    CROSS JOIN LATERAL json_to_recordset(orders.denial -> 'rows')
        AS shelf (sku text, requested bigint, on_hand bigint, reserved bigint)
    WHERE orders.denial IS NOT NULL AND orders.created_at >= $1 AND ($2::text IS NULL OR orders.channel = $2)
    GROUP BY orders.channel, orders.order_ref, shelf.sku
)
SELECT
    denied.sku, denied.channel,
    count(*) AS cases,
    count(oversold.order_ref) AS above,
    (percentile_disc(0.95) WITHIN GROUP (ORDER BY denied.short) FILTER (WHERE oversold.order_ref IS NOT NULL))::bigint AS p95,
    (max(denied.short) FILTER (WHERE oversold.order_ref IS NOT NULL))::bigint AS most
FROM denied
LEFT JOIN oversold ON oversold.channel = denied.channel AND oversold.order_ref = denied.order_ref
GROUP BY denied.sku, denied.channel
ORDER BY above DESC, cases DESC, denied.channel, denied.sku
