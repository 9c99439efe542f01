-- Invariant 2: what is reserved is what live lines hold, and what the journal sums to. Joined in full: a line or a step whose stock row is gone
-- is found too, unless its units come to nothing.
WITH line AS (
    -- What held and confirmed lines have outstanding, by stock row.
    SELECT sku, warehouse, sum(qty - shipped_qty) AS units
    FROM reservation
    WHERE state IN ('held', 'confirmed')
    GROUP BY sku, warehouse
),
step AS (
    -- What all steps ever taken changed, by stock row.
    SELECT sku, warehouse, sum(qty) AS units
    FROM reservation_event
    GROUP BY sku, warehouse
)
SELECT
    sku, warehouse,
    format('%s by the lines, %s by the journal', coalesce(line.units, 0), coalesce(step.units, 0)) AS expected,
    CASE WHEN stock.reserved IS NULL THEN 'no stock row' ELSE format('reserved %s', stock.reserved) END AS found
FROM stock
FULL JOIN line USING (sku, warehouse)
FULL JOIN step USING (sku, warehouse)
WHERE coalesce(stock.reserved, 0) <> coalesce(line.units, 0) OR coalesce(stock.reserved, 0) <> coalesce(step.units, 0)
ORDER BY sku, warehouse
