-- Makes room for rows that are about to be put in.
DELETE FROM channel_warehouse_map AS map
USING unnest($1::text[], $2::text[]) AS replaced (warehouse, channel)
WHERE map.warehouse = replaced.warehouse AND map.channel = replaced.channel
