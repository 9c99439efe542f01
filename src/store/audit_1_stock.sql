-- Invariant 1: what is promised lies on the shelf. The table's own constraints say the same; this asks whether they still stand.
SELECT sku, warehouse, '0 <= reserved <= on_hand' AS expected, format('reserved %s, on_hand %s', reserved, on_hand) AS found
FROM stock
WHERE on_hand < 0 OR reserved < 0 OR reserved > on_hand
ORDER BY sku, warehouse
