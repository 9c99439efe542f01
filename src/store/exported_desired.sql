-- What a channel ($1) should show at every point that it sells: its items in the warehouses it is served from under a name of its own. Units of
-- safety are the warehouse's own, or else the channel's ($2); no more than $3 is shown. A warehouse where nothing ever lay is left out; an item
-- that has no row of stock in a warehouse that is known is 0 there.
WITH known AS MATERIALIZED (
    SELECT DISTINCT warehouse FROM stock WHERE version > 0
)
SELECT
    item.external_id,
    place.external_warehouse_id,
    least(greatest(coalesce(stock.on_hand - stock.reserved, 0) - coalesce(place.safety_stock, $2), 0), $3) AS qty,
    item.sku,
    place.warehouse,
    coalesce(stock.version, 0) AS version
FROM channel_item_map AS item
JOIN channel_warehouse_map AS place ON place.channel = item.channel AND place.external_warehouse_id IS NOT NULL
JOIN known ON known.warehouse = place.warehouse
LEFT JOIN stock ON stock.sku = item.sku AND stock.warehouse = place.warehouse
WHERE item.channel = $1
ORDER BY place.warehouse, item.sku
