-- Keeps what was seen, but for what the same instant's file said before. That is looked up point by point, by its limit: as NOT EXISTS the planner
-- may read all observations of the channel instead.
INSERT INTO stock_observation
    (sku, channel, warehouse, observed_qty, desired_qty, compared_version, verdict, at, generation)
SELECT
    seen.sku, $1, seen.warehouse, seen.observed_qty, seen.desired_qty, seen.compared_version, seen.verdict, $2, generation.number
FROM generation
CROSS JOIN unnest($3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[])
    AS seen (sku, warehouse, observed_qty, desired_qty, compared_version, verdict)
WHERE generation.kept = 'observations' AND generation.current
    AND (
        SELECT true
        FROM stock_observation AS kept
        WHERE kept.sku = seen.sku AND kept.channel = $1 AND kept.warehouse = seen.warehouse
            AND kept.at = $2 AND kept.observed_qty = seen.observed_qty
        LIMIT 1
    ) IS NULL
