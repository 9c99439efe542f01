-- What these rows are, and what the lines, steps and movements of each sum to. Lines and steps have no index by row: each table is read once,
-- hence materialized.
WITH named AS MATERIALIZED (
    SELECT sku, warehouse, place
    FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS named (sku, warehouse, place)
),
line AS MATERIALIZED (
    -- What held and confirmed lines have outstanding.
    SELECT sku, warehouse, sum(qty - shipped_qty)::bigint AS units
    FROM reservation
    WHERE state IN ('held', 'confirmed') AND (sku, warehouse) IN (SELECT named.sku, named.warehouse FROM named)
    GROUP BY sku, warehouse
),
step AS MATERIALIZED (
    -- What all steps ever taken changed.
    SELECT sku, warehouse, sum(qty)::bigint AS units
    FROM reservation_event
    WHERE (sku, warehouse) IN (SELECT named.sku, named.warehouse FROM named)
    GROUP BY sku, warehouse
),
movement AS MATERIALIZED (
    -- What was ever moved onto the shelf, less what was moved off it.
    SELECT sku, warehouse, sum(delta)::bigint AS units
    FROM stock_movement
    WHERE (sku, warehouse) IN (SELECT named.sku, named.warehouse FROM named)
    GROUP BY sku, warehouse
)
SELECT
    sku, warehouse, stock.on_hand, stock.reserved, stock.version,
    coalesce(line.units, 0) AS lines, coalesce(step.units, 0) AS steps, coalesce(movement.units, 0) AS movements
FROM named
LEFT JOIN stock USING (sku, warehouse)
LEFT JOIN line USING (sku, warehouse)
LEFT JOIN step USING (sku, warehouse)
LEFT JOIN movement USING (sku, warehouse)
ORDER BY named.place
