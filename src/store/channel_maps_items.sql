SELECT sku, external_id FROM channel_item_map WHERE channel = $1 ORDER BY sku
