-- Claims orders by inserting them in the state of success, so that a new order, which is the rule, costs no look-up. All rows get one instant,
-- from which their holds run. Keys that were taken come back only if there are any.
WITH clock AS MATERIALIZED (
    SELECT clock_timestamp() AS at
),
claimed AS (
    INSERT INTO sales_order (
        channel, order_ref, state, event_id, payment_mode, total_amount, currency, digest, held_since, expires_at, created_at
    )
    SELECT
        claim.channel, claim.order_ref, claim.state, claim.event_id, claim.payment_mode, claim.total_amount, claim.currency,
        claim.digest,
        CASE WHEN claim.hold_s IS NOT NULL THEN clock.at END,
        clock.at + claim.hold_s * interval '1 second',
        clock.at
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::bytea[], $9::bigint[])
        AS claim (channel, order_ref, state, event_id, payment_mode, total_amount, currency, digest, hold_s),
        clock
    ON CONFLICT DO NOTHING
    RETURNING channel, order_ref
)
SELECT
    clock.at,
    CASE WHEN count(claimed) < cardinality($1) THEN coalesce(array_agg(claimed.channel) FILTER (WHERE claimed IS NOT NULL), '{}') END,
    CASE WHEN count(claimed) < cardinality($1) THEN coalesce(array_agg(claimed.order_ref) FILTER (WHERE claimed IS NOT NULL), '{}') END
FROM clock LEFT JOIN claimed ON true
GROUP BY clock.at
