-- Which of these SKUs have a stock row anywhere. Rows that a transaction is only making do not count.
SELECT named.sku
FROM unnest($1::text[]) AS named (sku)
WHERE EXISTS (SELECT FROM stock WHERE stock.sku = named.sku AND stock.version > 0)
