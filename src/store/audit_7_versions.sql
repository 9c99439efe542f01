-- Invariant 7: a row that stands has been told of, and version 0 never is.
SELECT sku, warehouse, 'a version above 0' AS expected, format('version %s', version) AS found
FROM stock
WHERE version < 1
ORDER BY sku, warehouse
