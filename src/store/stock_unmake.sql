-- Rows that this transaction made and nothing needed. Their version stands in a parameter: planned for the number itself, of which there
-- is hardly a row, it would begin with all rows of the table.
DELETE FROM stock
USING unnest($1::text[], $2::text[]) AS spare (sku, warehouse)
WHERE stock.sku = spare.sku AND stock.warehouse = spare.warehouse AND stock.version = $3
