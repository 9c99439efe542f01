-- The warehouses of channels, the first to be tried first.
SELECT map.channel, map.warehouse
FROM unnest($1::text[]) AS named (channel)
JOIN channel_warehouse_map AS map ON map.channel = named.channel
ORDER BY map.channel, map.priority, map.warehouse
