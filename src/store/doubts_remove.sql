DELETE FROM stock_doubt
USING unnest($1::text[], $2::text[]) AS retold (sku, warehouse)
WHERE stock_doubt.sku = retold.sku AND stock_doubt.warehouse = retold.warehouse
