-- Looks since then at which a channel showed another number than it had been told, by SKU and channel, and by how much it showed more.
SELECT
    sku, channel,
    count(*) AS cases,
    count(*) FILTER (WHERE observed_qty > desired_qty) AS above,
    (percentile_disc(0.95) WITHIN GROUP (ORDER BY observed_qty - desired_qty) FILTER (WHERE observed_qty > desired_qty))::bigint AS p95,
    (max(observed_qty - desired_qty) FILTER (WHERE observed_qty > desired_qty))::bigint AS most
FROM stock_observation
WHERE verdict = 'drift' AND at >= $1 AND ($2::text IS NULL OR channel = $2)
GROUP BY sku, channel
ORDER BY above DESC, cases DESC, channel, sku
