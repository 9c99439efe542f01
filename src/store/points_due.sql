-- Locks the points that one call may take: zeros first, then who has waited longest. None while a person or the channel itself wants nothing sent.
WITH head AS (
    SELECT head.call_max,
        coalesce(head.external_warehouse_id, head.told_external_warehouse_id) AS external_warehouse_id
    FROM publish_point AS head
    JOIN publish_channel AS control ON control.channel = head.channel
    WHERE control.paused_at IS NULL AND (control.halted_until IS NULL OR control.halted_until <= now())
        AND head.channel = $1 AND head.due_at <= now() AND head.lease IS NULL
    ORDER BY (head.desired_qty > 0), head.due_at
    LIMIT 1
    -- Who pauses the channel waits for this claim, and then sees what is in flight.
    FOR SHARE OF control
)
SELECT
    locked_row.*,
    -- Whether the address that was told last is another point's by now.
    locked_row.told_version IS NOT NULL AND EXISTS (
        SELECT FROM publish_point AS owner
        WHERE owner.channel = $1 AND owner.external_warehouse_id = locked_row.told_external_warehouse_id
            AND owner.external_id = locked_row.told_external_id
            AND (owner.sku, owner.warehouse) <> (locked_row.sku, locked_row.warehouse)
    ) AS anothers
FROM publish_point AS locked_row
CROSS JOIN head
WHERE locked_row.channel = $1 AND locked_row.due_at <= now() AND locked_row.lease IS NULL
    -- While a culprit is looked for, those that were in one call go together.
    AND locked_row.call_max IS NOT DISTINCT FROM head.call_max
    AND (NOT $3 OR coalesce(locked_row.external_warehouse_id, locked_row.told_external_warehouse_id)
        IS NOT DISTINCT FROM head.external_warehouse_id)
    -- Not while somebody is just withdrawing from the same address.
    AND NOT EXISTS (
        SELECT FROM publish_point AS leaver
        WHERE leaver.channel = $1 AND leaver.lease IS NOT NULL
            AND leaver.told_external_warehouse_id = locked_row.external_warehouse_id
            AND leaver.told_external_id = locked_row.external_id
            AND (leaver.external_id IS DISTINCT FROM leaver.told_external_id
                OR leaver.external_warehouse_id IS DISTINCT FROM leaver.told_external_warehouse_id)
    )
ORDER BY (locked_row.desired_qty > 0), locked_row.due_at
LIMIT (SELECT least(coalesce(call_max, $2), $2) FROM head)
FOR NO KEY UPDATE OF locked_row SKIP LOCKED
