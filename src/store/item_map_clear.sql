-- Makes room for rows that are about to be put in.
DELETE FROM channel_item_map AS map
USING unnest($1::text[], $2::text[]) AS replaced (sku, channel)
WHERE map.sku = replaced.sku AND map.channel = replaced.channel
