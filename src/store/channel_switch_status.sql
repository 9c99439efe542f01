-- How channels are: those of the settings and those that the tables know besides. Points are counted in one reading of all of them.
WITH named AS (
    SELECT unnest($1::text[]) AS channel
    UNION
    SELECT channel FROM publish_channel
),
point AS MATERIALIZED (
    SELECT
        channel,
        count(*) FILTER (WHERE external_id IS NOT NULL) AS points,
        count(*) FILTER (WHERE due_at IS NOT NULL) AS due,
        min(due_at) AS oldest_due_at,
        count(*) FILTER (WHERE lease IS NOT NULL AND lease_until > statement_timestamp()) AS in_flight,
        count(*) FILTER (WHERE parked IS NOT NULL) AS parked,
        sum(exposed_units)::bigint AS exposed_units,
        min(exposed_since) AS exposed_since
    FROM publish_point
    GROUP BY channel
),
unknown AS MATERIALIZED (
    SELECT channel, count(DISTINCT (sku, warehouse)) AS points
    FROM stock_push
    WHERE state = 'unknown'
    GROUP BY channel
)
SELECT
    named.channel, state.paused_at,
    CASE WHEN state.halted_until > statement_timestamp() THEN state.halted_until END AS halted_until,
    CASE WHEN state.halted_until > statement_timestamp() THEN state.halted_reason END AS halted_reason,
    coalesce(point.points, 0) AS points, coalesce(point.due, 0) AS due, point.oldest_due_at,
    coalesce(point.in_flight, 0) AS in_flight, coalesce(unknown.points, 0) AS unknown, coalesce(point.parked, 0) AS parked,
    coalesce(point.exposed_units, 0) AS exposed_units, point.exposed_since,
    state.reconciled_at, state.checked_at
FROM named
LEFT JOIN publish_channel AS state ON state.channel = named.channel
LEFT JOIN point ON point.channel = named.channel
LEFT JOIN unknown ON unknown.channel = named.channel
WHERE $2::text IS NULL OR named.channel = $2
ORDER BY named.channel
