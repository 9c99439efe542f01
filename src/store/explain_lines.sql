-- The order's lines.
SELECT id, sku, warehouse, qty, shipped_qty, returned_qty, state, cancelled
FROM reservation
WHERE channel = $1 AND order_ref = $2
ORDER BY id
