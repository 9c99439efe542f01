-- The stock rows of these SKUs, in the order in which rows are locked.
SELECT stock.sku, stock.warehouse
FROM unnest($1::text[]) AS mapped (sku)
JOIN stock ON stock.sku = mapped.sku
ORDER BY stock.sku, stock.warehouse
