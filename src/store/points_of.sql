-- The next stock rows that a channel has points of, behind one.
SELECT point.sku, point.warehouse
FROM publish_point AS point
WHERE point.channel = $1 AND (point.sku, point.warehouse) > ($2, $3)
ORDER BY point.sku, point.warehouse
LIMIT $4
