-- What channels should show by these figures, in the order in which points are locked.
WITH told AS (
    SELECT told.sku, told.warehouse, told.version, told.available
    FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) AS told (sku, warehouse, version, available)
),
publishing AS (
    SELECT publishing.channel, publishing.safety_stock
    FROM unnest($5::text[], $6::bigint[]) AS publishing (channel, safety_stock)
),
-- What they sell. The map's own safety stock wins, where it has one.
sold AS (
    SELECT
        told.sku, publishing.channel, told.warehouse, told.version, told.available,
        greatest(0, told.available - coalesce(map.safety_stock, publishing.safety_stock)) AS desired_qty,
        item.external_id, map.external_warehouse_id
    FROM told
    CROSS JOIN publishing
    JOIN channel_warehouse_map AS map ON map.warehouse = told.warehouse AND map.channel = publishing.channel
    JOIN channel_item_map AS item ON item.sku = told.sku AND item.channel = publishing.channel
    WHERE map.external_warehouse_id IS NOT NULL
),
-- What they have a point of and sell no more.
dropped AS (
    SELECT told.sku, point.channel, told.warehouse, told.version, told.available
    FROM told
    JOIN publish_point AS point ON point.warehouse = told.warehouse AND point.sku = told.sku
    JOIN publishing ON publishing.channel = point.channel
    WHERE NOT EXISTS (
        SELECT FROM sold WHERE sold.sku = told.sku AND sold.warehouse = told.warehouse AND sold.channel = point.channel
    )
)
SELECT sku, channel, warehouse, version, available, desired_qty, external_id, external_warehouse_id FROM sold
UNION ALL
SELECT sku, channel, warehouse, version, available, 0, NULL, NULL FROM dropped
ORDER BY sku, channel, warehouse
