-- The versions of those of the rows that exist.
SELECT stock.sku, stock.warehouse, stock.version
FROM unnest($1::text[], $2::text[]) AS named (sku, warehouse)
JOIN stock ON stock.sku = named.sku AND stock.warehouse = named.warehouse
