-- Invariant 5: an order has one line a SKU.
SELECT
    channel, order_ref, sku,
    'one reservation' AS expected,
    format('%s: %s', count(*), string_agg(id::text, ', ' ORDER BY id)) AS found
FROM reservation
GROUP BY order_ref, channel, sku
HAVING count(*) > 1
ORDER BY order_ref, channel, sku
