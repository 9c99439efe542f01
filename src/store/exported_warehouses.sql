-- The whole map.
SELECT warehouse, channel, external_warehouse_id, priority, safety_stock
FROM channel_warehouse_map
ORDER BY channel, priority, warehouse
