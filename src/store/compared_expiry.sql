-- How the named orders that exist stand, and when they end: only what is held ends.
SELECT
    sales_order.channel, sales_order.order_ref, sales_order.state,
    CASE WHEN sales_order.state = 'held' THEN sales_order.expires_at END
FROM unnest($1::text[], $2::text[]) AS named (channel, order_ref)
JOIN sales_order ON sales_order.order_ref = named.order_ref AND sales_order.channel = named.channel
