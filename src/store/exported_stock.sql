-- Every row of stock, reserved units included. A row of version 0 was only made, by a transaction that then needed it not.
SELECT sku, warehouse, on_hand
FROM stock
WHERE version > 0
ORDER BY sku, warehouse
