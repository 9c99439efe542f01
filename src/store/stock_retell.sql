-- Locks the rows and raises their versions, so that whatever was told of them before is not the last word.
WITH locked AS MATERIALIZED (
    SELECT locked_row.sku, locked_row.warehouse
    FROM unnest($1::text[], $2::text[]) AS doubted (sku, warehouse)
    JOIN stock AS locked_row ON locked_row.sku = doubted.sku AND locked_row.warehouse = doubted.warehouse
    ORDER BY locked_row.sku, locked_row.warehouse
    FOR NO KEY UPDATE OF locked_row
)
UPDATE stock SET version = stock.version + 1
FROM locked
WHERE stock.sku = locked.sku AND stock.warehouse = locked.warehouse
RETURNING stock.sku, stock.warehouse, stock.on_hand, stock.reserved, stock.version, clock_timestamp() AS now
