-- Which of the named orders have a row.
SELECT sales_order.channel, sales_order.order_ref
FROM unnest($1::text[], $2::text[]) AS named (channel, order_ref)
JOIN sales_order ON sales_order.order_ref = named.order_ref AND sales_order.channel = named.channel
