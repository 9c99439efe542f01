-- Locks the rows and raises their versions above what was told of them.
WITH locked AS MATERIALIZED (
    SELECT locked_row.sku, locked_row.warehouse, told.version
    FROM unnest($1::text[], $2::text[], $3::bigint[]) AS told (sku, warehouse, version)
    JOIN stock AS locked_row ON locked_row.sku = told.sku AND locked_row.warehouse = told.warehouse
    ORDER BY locked_row.sku, locked_row.warehouse
    FOR NO KEY UPDATE OF locked_row
)
UPDATE stock SET version = greatest(stock.version, locked.version) + 1
FROM locked
WHERE stock.sku = locked.sku AND stock.warehouse = locked.warehouse
RETURNING stock.sku, stock.warehouse, stock.on_hand, stock.reserved, stock.version, clock_timestamp() AS now
