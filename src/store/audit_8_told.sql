-- Invariant 8: what is told last is the newest that was sent, what flies has its row, and nothing newer than the point's newest was queued.
SELECT point.sku, point.channel, point.warehouse,
    format('newest %s queued, at most one being sent', point.newest_version) AS expected,
    format('queued up to %s, %s being sent, %s in flight', queued.newest, queued.sending, CASE WHEN point.lease IS NULL THEN 'none' ELSE 'one' END) AS found
FROM publish_point AS point
LEFT JOIN (
    SELECT sku, channel, warehouse, max(version) AS newest, count(*) FILTER (WHERE state = 'sending') AS sending
    FROM stock_push
    GROUP BY sku, channel, warehouse
) AS queued ON queued.sku = point.sku AND queued.channel = point.channel AND queued.warehouse = point.warehouse
WHERE point.newest_version > 0
    AND (queued.newest IS DISTINCT FROM point.newest_version OR queued.sending <> CASE WHEN point.lease IS NULL THEN 0 ELSE 1 END)
ORDER BY point.sku, point.channel, point.warehouse
