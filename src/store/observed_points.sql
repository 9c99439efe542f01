-- The points at these addresses of a channel, and what was sent to them last by an instant: by the attempts, or, where they are not kept any more,
-- by what the point itself remembers. What was sent to another address, before the item or the warehouse got this one, is not what this one shows.
SELECT
    named.place, point.sku, point.warehouse, point.newest_version, point.told_at,
    coalesce(attempt.version, remembered.version) AS version,
    coalesce(attempt.qty, remembered.qty) AS qty,
    coalesce(attempt.began_at, remembered.began_at) AS began_at
FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS named (channel, external_id, external_warehouse_id, place)
JOIN publish_point AS point
    ON point.channel = named.channel
    AND point.external_warehouse_id = named.external_warehouse_id
    AND point.external_id = named.external_id
LEFT JOIN LATERAL (
    SELECT sent.version, sent.qty, sent.began_at
    FROM push_attempt AS sent
    WHERE sent.sku = point.sku AND sent.channel = point.channel AND sent.warehouse = point.warehouse
        AND sent.external_id = named.external_id AND sent.external_warehouse_id = named.external_warehouse_id
        AND sent.began_at <= $4
    ORDER BY sent.flight DESC, sent.id DESC
    LIMIT 1
) AS attempt ON true
LEFT JOIN LATERAL (
    SELECT point.told_version AS version, point.told_qty AS qty, point.told_at AS began_at
    WHERE point.told_external_id = named.external_id AND point.told_external_warehouse_id = named.external_warehouse_id
        AND point.told_at <= $4
) AS remembered ON true
