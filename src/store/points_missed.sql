-- Stock rows, behind one, that have newer figures than a channel's point of them, or no point though the channel sells them: what the stream has
-- lost, and what was mapped while nobody listened.
SELECT stock.sku, stock.warehouse, stock.version, stock.on_hand - stock.reserved AS available
FROM channel_item_map AS item
JOIN stock ON stock.sku = item.sku
JOIN channel_warehouse_map AS map ON map.warehouse = stock.warehouse AND map.channel = item.channel
LEFT JOIN publish_point AS point ON point.sku = stock.sku AND point.channel = item.channel AND point.warehouse = stock.warehouse
WHERE item.channel = $1 AND map.external_warehouse_id IS NOT NULL AND stock.version > coalesce(point.newest_version, 0)
    AND item.sku >= $2 AND stock.sku >= $2 AND (item.sku, stock.warehouse) > ($2, $3)
ORDER BY item.sku, stock.warehouse
LIMIT $4
