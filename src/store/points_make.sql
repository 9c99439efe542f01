-- Makes the rows of points that are new, sorted, with a version that is older than any. What should be shown is written when they are locked.
INSERT INTO publish_point (sku, channel, warehouse, newest_version, available, desired_qty)
SELECT new.sku, new.channel, new.warehouse, 0, 0, 0
FROM unnest($1::text[], $2::text[], $3::text[]) AS new (sku, channel, warehouse)
ORDER BY new.sku, new.channel, new.warehouse
ON CONFLICT (sku, channel, warehouse) DO NOTHING
