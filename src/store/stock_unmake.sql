-- Rows that this transaction made and nothing needed.
DELETE FROM stock
USING unnest($1::text[], $2::text[]) AS spare (sku, warehouse)
WHERE stock.sku = spare.sku AND stock.warehouse = spare.warehouse AND stock.version = 0
