-- An order as it stands, with its lines: one statement, so that both are of one instant.
SELECT
    orders.state, orders.payment_mode, orders.total_amount, orders.currency, orders.rejection, orders.created_at, orders.expires_at,
    line.sku, line.warehouse, line.qty, line.shipped_qty, line.returned_qty, line.state AS line_state
FROM sales_order AS orders
LEFT JOIN reservation AS line ON line.order_ref = orders.order_ref AND line.channel = orders.channel
WHERE orders.channel = $1 AND orders.order_ref = $2
ORDER BY line.id
