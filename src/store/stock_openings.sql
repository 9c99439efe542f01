-- What the named rows that exist were opened with: 0 where the first units came later.
SELECT stock.sku, stock.warehouse, coalesce(opening.units, 0)
FROM unnest($1::text[], $2::text[]) AS named (sku, warehouse)
JOIN stock ON stock.sku = named.sku AND stock.warehouse = named.warehouse
CROSS JOIN LATERAL (
    SELECT sum(movement.delta)::bigint AS units
    FROM stock_movement AS movement
    WHERE movement.sku = stock.sku AND movement.warehouse = stock.warehouse AND movement.kind = 'opening'
) AS opening
