-- Versions that are done with and old, but the newest of each point and the one that was told last. (The planner looks them up one by one.)
WITH old AS (
    SELECT push.id
    FROM stock_push AS push
    WHERE push.created_at < now() - make_interval(secs => $1) AND push.state IN ('accepted', 'superseded')
        AND NOT EXISTS (
            SELECT FROM publish_point AS point
            WHERE point.sku = push.sku AND point.channel = push.channel AND point.warehouse = push.warehouse
                AND push.version IN (point.newest_version, point.told_version)
        )
    ORDER BY push.created_at
    LIMIT $2
)
DELETE FROM stock_push AS push USING old WHERE push.id = old.id
