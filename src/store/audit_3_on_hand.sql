-- Invariant 3: what lies on the shelf is what was ever moved onto it, less what was moved off it.
WITH movement AS (
    SELECT sku, warehouse, sum(delta) AS units
    FROM stock_movement
    GROUP BY sku, warehouse
)
SELECT
    sku, warehouse,
    format('%s by the movements', coalesce(movement.units, 0)) AS expected,
    CASE WHEN stock.on_hand IS NULL THEN 'no stock row' ELSE format('on_hand %s', stock.on_hand) END AS found
FROM stock
FULL JOIN movement USING (sku, warehouse)
WHERE coalesce(stock.on_hand, 0) <> coalesce(movement.units, 0)
ORDER BY sku, warehouse
