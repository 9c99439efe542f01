SELECT id, at, observed_qty, desired_qty, compared_version, verdict
FROM stock_observation
WHERE sku = $1 AND channel = $2 AND warehouse = $3
ORDER BY id DESC
LIMIT $4
