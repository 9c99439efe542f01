INSERT INTO stock_observation (sku, channel, warehouse, observed_qty, desired_qty, compared_version, verdict, at, generation)
SELECT seen.sku, $2, seen.warehouse, seen.observed_qty, seen.desired_qty, seen.compared_version, seen.verdict, $8,
    (SELECT number FROM generation WHERE kept = 'observations' AND current)
FROM unnest($1::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[])
    AS seen (sku, warehouse, observed_qty, desired_qty, compared_version, verdict)
