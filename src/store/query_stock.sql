-- The rows of a SKU, or one of them. A row of version 0 was only made, by a transaction that then needed it not.
SELECT warehouse, on_hand, reserved, version
FROM stock
WHERE sku = $1 AND ($2::text IS NULL OR warehouse = $2) AND version > 0
ORDER BY warehouse
