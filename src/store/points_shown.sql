-- The next points of a channel that were told something, address by address, behind one.
SELECT point.sku, point.warehouse, point.told_external_id AS external_id, point.told_external_warehouse_id AS external_warehouse_id, point.flights
FROM publish_point AS point
WHERE point.channel = $1 AND point.told_version IS NOT NULL AND point.lease IS NULL
    AND (point.told_external_warehouse_id, point.told_external_id) > ($2, $3)
ORDER BY point.told_external_warehouse_id, point.told_external_id
LIMIT $4
