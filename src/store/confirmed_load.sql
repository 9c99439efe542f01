-- The versions that are known to be shown, and whether the stock row has figures that the point has not got.
SELECT point.sku, point.warehouse, confirmed.confirmed_version, coalesce(stock.version > point.newest_version, false) AS behind
FROM unnest($2::text[], $3::text[]) AS asked (sku, warehouse)
JOIN publish_point AS point ON point.sku = asked.sku AND point.channel = $1 AND point.warehouse = asked.warehouse
LEFT JOIN stock_confirmed AS confirmed
    ON confirmed.sku = point.sku AND confirmed.channel = point.channel AND confirmed.warehouse = point.warehouse
LEFT JOIN stock ON stock.sku = point.sku AND stock.warehouse = point.warehouse
