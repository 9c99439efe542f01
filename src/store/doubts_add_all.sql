-- Every row that was ever told.
INSERT INTO stock_doubt (sku, warehouse)
SELECT sku, warehouse FROM stock WHERE version > 0
ON CONFLICT DO NOTHING
