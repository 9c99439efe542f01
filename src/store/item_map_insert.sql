INSERT INTO channel_item_map (sku, channel, external_id)
SELECT item.sku, item.channel, item.external_id
FROM unnest($1::text[], $2::text[], $3::text[]) AS item (sku, channel, external_id)
