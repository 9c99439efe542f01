-- Flights begin: their versions are being sent, what was sent before and never known is superseded, and each attempt has its row.
WITH flight AS (
    SELECT flight.sku, flight.channel, flight.warehouse, flight.version, flight.external_id, flight.external_warehouse_id, flight.qty,
        flight.withdrawal, flight.number
    FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::boolean[], $9::bigint[])
        AS flight (sku, channel, warehouse, version, external_id, external_warehouse_id, qty, withdrawal, number)
),
sending AS (
    UPDATE stock_push AS push SET state = 'sending', attempts = push.attempts + 1
    FROM flight
    WHERE push.sku = flight.sku AND push.channel = flight.channel AND push.warehouse = flight.warehouse AND push.version = flight.version
    RETURNING push.id
),
superseded AS (
    UPDATE stock_push AS push SET state = 'superseded'
    FROM flight
    CROSS JOIN LATERAL (
        SELECT id FROM stock_push
        WHERE sku = flight.sku AND channel = flight.channel AND warehouse = flight.warehouse
            AND state IN ('pending', 'unknown', 'needs_review') AND version < flight.version
        -- Looked up point by point.
        OFFSET 0
    ) AS older
    WHERE push.id = older.id
),
begun AS (
    INSERT INTO push_attempt (sku, channel, warehouse, version, external_id, external_warehouse_id, qty, withdrawal, flight, lease, began_at, generation)
    SELECT flight.sku, flight.channel, flight.warehouse, flight.version, flight.external_id, flight.external_warehouse_id, flight.qty,
        flight.withdrawal, flight.number, $10, $11, (SELECT number FROM generation WHERE kept = 'attempts' AND current)
    FROM flight
    RETURNING id
)
SELECT (SELECT count(*) FROM sending) AS sending, (SELECT count(*) FROM begun) AS begun
