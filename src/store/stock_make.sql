-- Makes the rows that must exist, and tells which are new. Version 0 is never told: it marks a row that is only being made.
INSERT INTO stock (sku, warehouse, on_hand)
SELECT needed.sku, needed.warehouse, 0
FROM unnest($1::text[], $2::text[]) AS needed (sku, warehouse)
ON CONFLICT DO NOTHING
RETURNING sku, warehouse
