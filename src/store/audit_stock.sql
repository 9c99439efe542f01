-- Every stock row, in the order of their keys, to be compared with what was told of it.
SELECT sku, warehouse, on_hand, reserved, version FROM stock ORDER BY sku, warehouse
