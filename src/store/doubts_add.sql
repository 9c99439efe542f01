INSERT INTO stock_doubt (sku, warehouse)
SELECT doubted.sku, doubted.warehouse
FROM unnest($1::text[], $2::text[]) AS doubted (sku, warehouse)
ON CONFLICT DO NOTHING
