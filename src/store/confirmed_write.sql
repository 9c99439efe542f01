-- A version that is known to be shown. It never goes back.
INSERT INTO stock_confirmed AS standing (sku, channel, warehouse, confirmed_version, confirmed_qty, confirmed_at)
SELECT seen.sku, seen.channel, seen.warehouse, seen.version, seen.qty, $6
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[]) AS seen (sku, channel, warehouse, version, qty)
ON CONFLICT (sku, channel, warehouse) DO UPDATE
SET confirmed_version = EXCLUDED.confirmed_version, confirmed_qty = EXCLUDED.confirmed_qty, confirmed_at = EXCLUDED.confirmed_at
WHERE EXCLUDED.confirmed_version >= standing.confirmed_version
