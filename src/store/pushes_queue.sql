-- Versions that were to be told, under their points' locks. What a newer one makes needless before it was sent is superseded; what was so before and
-- never sent is let go of, so that the queue is no longer than there are points, whatever comes in. (OFFSET 0: looked up point by point.)
WITH queued AS (
    SELECT queued.sku, queued.channel, queued.warehouse, queued.version, queued.desired_qty, queued.state, queued.error
    FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::text[])
        AS queued (sku, channel, warehouse, version, desired_qty, state, error)
),
unsent AS (
    DELETE FROM stock_push AS push
    USING queued
    CROSS JOIN LATERAL (
        SELECT id FROM stock_push
        WHERE sku = queued.sku AND channel = queued.channel AND warehouse = queued.warehouse
            AND state = 'superseded' AND attempts = 0 AND version < queued.version
        OFFSET 0
    ) AS needless
    WHERE push.id = needless.id
),
superseded AS (
    UPDATE stock_push AS push SET state = 'superseded'
    FROM queued
    CROSS JOIN LATERAL (
        SELECT id FROM stock_push
        WHERE sku = queued.sku AND channel = queued.channel AND warehouse = queued.warehouse
            AND state IN ('pending', 'needs_review') AND version < queued.version
        OFFSET 0
    ) AS older
    WHERE push.id = older.id
)
INSERT INTO stock_push (sku, channel, warehouse, version, desired_qty, state, last_error, created_at)
SELECT queued.sku, queued.channel, queued.warehouse, queued.version, queued.desired_qty, queued.state, queued.error, $8
FROM queued
ON CONFLICT (sku, channel, warehouse, version) DO NOTHING
