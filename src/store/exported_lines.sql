-- What is outstanding of every order that is under way: what shipped lies on no shelf. A hold that has ended is none, swept or not.
SELECT
    line.channel, line.order_ref, line.sku, line.warehouse, line.qty - line.shipped_qty, line.state,
    CASE WHEN line.state = 'held' THEN orders.expires_at END
FROM reservation AS line
JOIN sales_order AS orders ON orders.order_ref = line.order_ref AND orders.channel = line.channel
WHERE line.state = 'confirmed' OR line.state = 'held' AND orders.expires_at > transaction_timestamp()
ORDER BY line.channel, line.order_ref, line.id
