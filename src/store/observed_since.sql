-- What was seen last of each of a channel's points since an instant.
SELECT DISTINCT ON (seen.sku, seen.warehouse) seen.id, seen.sku, seen.warehouse, seen.observed_qty, seen.desired_qty, seen.compared_version, seen.verdict
FROM stock_observation AS seen
WHERE seen.channel = $1 AND seen.at >= $2
ORDER BY seen.sku, seen.warehouse, seen.id DESC
