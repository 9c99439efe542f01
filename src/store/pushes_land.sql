-- Flights end: what became of their versions, and of each attempt.
WITH landed AS (
    SELECT landed.sku, landed.channel, landed.warehouse, landed.version, landed.flight, landed.state, landed.error, landed.outcome
    FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[])
        AS landed (sku, channel, warehouse, version, flight, state, error, outcome)
),
ended AS (
    UPDATE push_attempt AS attempt SET ended_at = $10, outcome = landed.outcome, detail = landed.error
    FROM landed
    CROSS JOIN LATERAL (
        SELECT id, generation FROM push_attempt
        WHERE sku = landed.sku AND channel = landed.channel AND warehouse = landed.warehouse AND flight = landed.flight
            AND lease = $9 AND ended_at IS NULL
        -- Looked up point by point.
        OFFSET 0
    ) AS begun
    WHERE attempt.id = begun.id AND attempt.generation = begun.generation
)
-- By its key; a condition on the state would have all that are being sent read.
UPDATE stock_push AS push
SET state = CASE WHEN push.state = 'sending' THEN landed.state ELSE push.state END, last_error = coalesce(landed.error, push.last_error)
FROM landed
WHERE push.sku = landed.sku AND push.channel = landed.channel AND push.warehouse = landed.warehouse AND push.version = landed.version
