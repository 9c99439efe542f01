-- Invariant 2: what a line has shipped, and what of it came back, is what its parcels sum to. Joined in full: a parcel without its line is found
-- too.
WITH carried AS (
    SELECT
        reservation_id, min(sku) AS sku,
        coalesce(sum(qty) FILTER (WHERE kind = 'shipped'), 0) AS shipped,
        coalesce(sum(qty) FILTER (WHERE kind <> 'shipped'), 0) AS returned
    FROM parcel_line
    GROUP BY reservation_id
)
SELECT
    line.channel, line.order_ref,
    coalesce(line.id, carried.reservation_id) AS reservation_id,
    coalesce(line.sku, carried.sku) AS sku,
    format('%s shipped and %s returned, by the parcels', coalesce(carried.shipped, 0), coalesce(carried.returned, 0)) AS expected,
    CASE
        WHEN line.id IS NULL THEN 'no reservation'
        ELSE format('%s shipped and %s returned', line.shipped_qty, line.returned_qty)
    END AS found
FROM reservation AS line
FULL JOIN carried ON carried.reservation_id = line.id
WHERE line.id IS NULL
    OR line.shipped_qty <> coalesce(carried.shipped, 0)
    OR line.returned_qty <> coalesce(carried.returned, 0)
ORDER BY 3
