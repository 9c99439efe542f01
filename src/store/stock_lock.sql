-- Locks stock rows in the order of their keys: a named one, or all warehouses of a SKU where none is named. The clock stands above the
-- aggregates and is therefore read when the last lock has been taken. Always one row, also where there is nothing to lock.
WITH locked AS MATERIALIZED (
    SELECT locked_row.sku, locked_row.warehouse, locked_row.on_hand, locked_row.reserved, locked_row.version
    FROM unnest($1::text[], $2::text[]) AS wanted (sku, warehouse)
    JOIN stock AS locked_row
        ON locked_row.sku = wanted.sku AND (wanted.warehouse IS NULL OR locked_row.warehouse = wanted.warehouse)
    ORDER BY locked_row.sku, locked_row.warehouse
    FOR NO KEY UPDATE OF locked_row
)
SELECT
    clock_timestamp() AS now,
    coalesce(array_agg(sku), '{}') AS skus,
    coalesce(array_agg(warehouse), '{}') AS warehouses,
    coalesce(array_agg(on_hand), '{}') AS on_hand,
    coalesce(array_agg(reserved), '{}') AS reserved,
    coalesce(array_agg(version), '{}') AS versions
FROM locked
