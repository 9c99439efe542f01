-- Invariant 8: what a point is told never gets older, and one sending ends before the next begins. A sender that is gone has no end: its lease has, long
-- before the next begins, which is for the program to keep.
SELECT step.sku, step.channel, step.warehouse,
    'versions in order, one sending at a time' AS expected,
    format('version %s sent at %s, after version %s, which ended at %s', step.version, step.began_at, step.version_before, step.ended_before) AS found
FROM (
    SELECT sku, channel, warehouse, version, began_at,
        lag(version) OVER point AS version_before,
        lag(ended_at) OVER point AS ended_before
    FROM push_attempt
    WINDOW point AS (PARTITION BY sku, channel, warehouse ORDER BY flight)
) AS step
WHERE step.version < step.version_before OR step.began_at < step.ended_before
ORDER BY step.sku, step.channel, step.warehouse
