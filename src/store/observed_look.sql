-- Has points looked at now. Whoever is sending to one looks afterwards anyway. The channel is compared in a way that no index can serve: on an empty
-- table the planner might choose the index by address for it, which names thousands of points, and keep to that plan.
WITH locked AS MATERIALIZED (
    SELECT locked_row.sku, locked_row.channel, locked_row.warehouse
    FROM unnest($1::text[], $2::text[], $3::text[]) AS drifted (sku, channel, warehouse)
    JOIN publish_point AS locked_row
        ON locked_row.sku = drifted.sku AND locked_row.warehouse = drifted.warehouse
        AND locked_row.channel IS NOT DISTINCT FROM drifted.channel
    ORDER BY locked_row.sku, locked_row.channel, locked_row.warehouse
    FOR NO KEY UPDATE OF locked_row
)
UPDATE publish_point AS point SET look_at = clock_timestamp()
FROM locked
WHERE point.sku = locked.sku AND point.warehouse = locked.warehouse AND point.channel IS NOT DISTINCT FROM locked.channel
    AND point.lease IS NULL
