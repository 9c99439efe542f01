-- Has points looked at now. Whoever is sending to one looks afterwards anyway.
WITH locked AS MATERIALIZED (
    SELECT locked_row.sku, locked_row.channel, locked_row.warehouse
    FROM unnest($1::text[], $2::text[], $3::text[]) AS drifted (sku, channel, warehouse)
    JOIN publish_point AS locked_row
        ON locked_row.sku = drifted.sku AND locked_row.warehouse = drifted.warehouse
        AND locked_row.channel = drifted.channel
    ORDER BY locked_row.sku, locked_row.channel, locked_row.warehouse
    FOR NO KEY UPDATE OF locked_row
)
UPDATE publish_point AS point SET look_at = clock_timestamp()
FROM locked
WHERE point.sku = locked.sku AND point.warehouse = locked.warehouse AND point.channel = locked.channel
    AND point.lease IS NULL
