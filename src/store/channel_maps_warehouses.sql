SELECT warehouse, external_warehouse_id
FROM channel_warehouse_map
WHERE channel = $1 AND external_warehouse_id IS NOT NULL
ORDER BY warehouse
