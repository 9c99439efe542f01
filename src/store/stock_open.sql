-- Rows that must be new, with the figures they open with. The clock stands above the aggregate and is therefore read when the last row is in.
WITH opened AS (
    INSERT INTO stock (sku, warehouse, on_hand, version)
    SELECT opening.sku, opening.warehouse, opening.on_hand, opening.version
    FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) AS opening (sku, warehouse, on_hand, version)
    ON CONFLICT DO NOTHING
    RETURNING 1
)
SELECT count(*), clock_timestamp() FROM opened
