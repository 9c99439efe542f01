-- Points that are to be looked at now, out of the schedule, of one warehouse of the channel.
WITH head AS (
    SELECT head.told_external_warehouse_id
    FROM publish_point AS head
    WHERE head.channel = $1 AND head.look_at <= now() AND head.lease IS NULL AND head.told_version IS NOT NULL
    ORDER BY head.look_at
    LIMIT 1
)
SELECT point.sku, point.warehouse, point.told_external_id AS external_id, point.told_external_warehouse_id AS external_warehouse_id, point.flights
FROM publish_point AS point
JOIN head ON head.told_external_warehouse_id = point.told_external_warehouse_id
WHERE point.channel = $1 AND point.look_at <= now() AND point.lease IS NULL
ORDER BY point.look_at
LIMIT $2
