-- What is available in the named rows that exist.
SELECT stock.sku, stock.warehouse, stock.on_hand - stock.reserved
FROM unnest($1::text[], $2::text[]) AS named (sku, warehouse)
JOIN stock ON stock.sku = named.sku AND stock.warehouse = named.warehouse
