-- What stands there for these SKUs in these channels, or under these external ids.
SELECT map.sku, map.channel, map.external_id
FROM unnest($1::text[], $2::text[]) AS named (sku, channel)
JOIN channel_item_map AS map ON map.sku = named.sku AND map.channel = named.channel
UNION
SELECT map.sku, map.channel, map.external_id
FROM unnest($2::text[], $3::text[]) AS named (channel, external_id)
JOIN channel_item_map AS map ON map.channel = named.channel AND map.external_id = named.external_id
