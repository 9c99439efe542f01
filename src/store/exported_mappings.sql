-- The whole map.
SELECT sku, channel, external_id
FROM channel_item_map
ORDER BY channel, sku
