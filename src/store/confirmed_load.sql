-- The versions that are known to be shown, and whether the stock row has figures that the point has not got.
SELECT asked.sku, asked.warehouse, confirmed.confirmed_version, coalesce(stock.version > point.newest_version, false) AS behind
FROM unnest($1::text[], $2::text[], $3::text[]) AS asked (sku, channel, warehouse)
LEFT JOIN publish_point AS point
    ON point.sku = asked.sku AND point.channel = asked.channel AND point.warehouse = asked.warehouse
LEFT JOIN stock_confirmed AS confirmed
    ON confirmed.sku = asked.sku AND confirmed.channel = asked.channel AND confirmed.warehouse = asked.warehouse
LEFT JOIN stock ON stock.sku = asked.sku AND stock.warehouse = asked.warehouse
