-- The next rows of these warehouses after a key, in the order in which rows are locked.
SELECT sku, warehouse
FROM stock
WHERE warehouse = ANY ($1::text[]) AND (sku, warehouse) > ($2, $3)
ORDER BY sku, warehouse
LIMIT $4
