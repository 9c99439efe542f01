-- Which of these warehouses have a stock row or stand in a channel's map. Each is one row looked up, by its limit: as EXISTS beside an OR the
-- planner may gather all warehouses of the table instead.
SELECT named.warehouse
FROM unnest($1::text[]) AS named (warehouse)
WHERE (SELECT true FROM stock WHERE stock.warehouse = named.warehouse AND stock.version > 0 LIMIT 1)
    OR (SELECT true FROM channel_warehouse_map AS map WHERE map.warehouse = named.warehouse LIMIT 1)
