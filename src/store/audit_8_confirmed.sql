-- Invariant 8: what is known to be shown was told, and is no newer than what was told last.
SELECT confirmed.sku, confirmed.channel, confirmed.warehouse,
    'no newer than what was told last' AS expected,
    format('version %s is known to be shown, %s was told last', confirmed.confirmed_version, coalesce(point.told_version::text, 'nothing')) AS found
FROM stock_confirmed AS confirmed
LEFT JOIN publish_point AS point
    ON point.sku = confirmed.sku AND point.channel = confirmed.channel AND point.warehouse = confirmed.warehouse
WHERE confirmed.confirmed_version > coalesce(point.told_version, 0)
ORDER BY confirmed.sku, confirmed.channel, confirmed.warehouse
