-- All lines of orders. They change only under their order's lock, which is held.
SELECT
    line.channel, line.order_ref, line.id, line.sku, line.warehouse, line.named, line.qty, line.shipped_qty,
    line.returned_qty, line.state, line.cancelled
FROM unnest($1::text[], $2::text[]) AS named (channel, order_ref)
JOIN reservation AS line ON line.channel = named.channel AND line.order_ref = named.order_ref
ORDER BY line.id
