-- Which of these warehouses have a stock row or stand in a channel's map.
SELECT named.warehouse
FROM unnest($1::text[]) AS named (warehouse)
WHERE EXISTS (SELECT FROM stock WHERE stock.warehouse = named.warehouse AND stock.version > 0)
    OR EXISTS (SELECT FROM channel_warehouse_map AS map WHERE map.warehouse = named.warehouse)
