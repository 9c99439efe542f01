-- Which of the wanted rows exist, locked or not.
SELECT stock.sku, stock.warehouse
FROM unnest($1::text[], $2::text[]) AS wanted (sku, warehouse)
JOIN stock ON stock.sku = wanted.sku AND (wanted.warehouse IS NULL OR stock.warehouse = wanted.warehouse)
