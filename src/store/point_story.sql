-- A point and what surrounds it, in one row: what is not there is null.
SELECT
    statement_timestamp() AS now,
    stock.on_hand, stock.reserved, stock.version AS stock_version,
    item.external_id AS mapped_id, place.external_warehouse_id AS mapped_warehouse_id, place.safety_stock,
    state.paused_at,
    CASE WHEN state.halted_until > statement_timestamp() THEN state.halted_until END AS halted_until,
    CASE WHEN state.halted_until > statement_timestamp() THEN state.halted_reason END AS halted_reason,
    point.newest_version, point.desired_qty,
    point.told_version, point.told_qty, point.told_at, point.told_external_id, point.told_external_warehouse_id,
    point.lease_until, point.due_at, point.look_at, point.low_since, point.parked, point.shown_qty, point.exposed_units,
    confirmed.confirmed_version, confirmed.confirmed_qty, confirmed.confirmed_at,
    (
        SELECT max(id)
        FROM review_item
        WHERE resolved_at IS NULL AND subject ->> 'sku' = $1 AND subject ->> 'channel' = $2 AND subject ->> 'warehouse' = $3
    ) AS review_id
FROM (SELECT $1::text AS sku, $2::text AS channel, $3::text AS warehouse) AS asked
LEFT JOIN stock ON stock.sku = asked.sku AND stock.warehouse = asked.warehouse
LEFT JOIN channel_item_map AS item ON item.sku = asked.sku AND item.channel = asked.channel
LEFT JOIN channel_warehouse_map AS place ON place.warehouse = asked.warehouse AND place.channel = asked.channel
LEFT JOIN publish_channel AS state ON state.channel = asked.channel
LEFT JOIN publish_point AS point ON point.sku = asked.sku AND point.channel = asked.channel AND point.warehouse = asked.warehouse
LEFT JOIN stock_confirmed AS confirmed
    ON confirmed.sku = asked.sku AND confirmed.channel = asked.channel AND confirmed.warehouse = asked.warehouse
