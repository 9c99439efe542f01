-- Invariant 3, of parcels: what left a shelf for orders and what came back to it is what the parcels of that shelf sum to. Damaged units lie on
-- no shelf.
WITH carried AS (
    SELECT
        sku, warehouse,
        coalesce(sum(qty) FILTER (WHERE kind = 'shipped'), 0) AS shipped,
        coalesce(sum(qty) FILTER (WHERE kind = 'returned'), 0) AS returned
    FROM parcel_line
    GROUP BY sku, warehouse
),
moved AS (
    SELECT
        sku, warehouse,
        coalesce(-sum(delta) FILTER (WHERE kind = 'shipped'), 0) AS shipped,
        coalesce(sum(delta) FILTER (WHERE kind = 'returned'), 0) AS returned
    FROM stock_movement
    WHERE kind IN ('shipped', 'returned')
    GROUP BY sku, warehouse
)
SELECT
    sku, warehouse,
    format('%s shipped and %s returned, by the parcels', coalesce(carried.shipped, 0), coalesce(carried.returned, 0)) AS expected,
    format('%s shipped and %s returned, by the movements', coalesce(moved.shipped, 0), coalesce(moved.returned, 0)) AS found
FROM carried
FULL JOIN moved USING (sku, warehouse)
WHERE coalesce(carried.shipped, 0) <> coalesce(moved.shipped, 0)
    OR coalesce(carried.returned, 0) <> coalesce(moved.returned, 0)
ORDER BY sku, warehouse
