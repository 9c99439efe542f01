-- Locks the points whose sender is believed dead, each with the attempt that it began.
SELECT locked_row.*, attempt.version AS flown_version, attempt.qty AS flown_qty, attempt.external_id AS flown_external_id,
    attempt.external_warehouse_id AS flown_external_warehouse_id, attempt.withdrawal AS flown_withdrawal, attempt.began_at AS flown_at
FROM publish_point AS locked_row
JOIN push_attempt AS attempt
    ON attempt.sku = locked_row.sku AND attempt.channel = locked_row.channel AND attempt.warehouse = locked_row.warehouse
        AND attempt.flight = locked_row.flights AND attempt.lease = locked_row.lease
WHERE locked_row.channel = $1 AND locked_row.lease IS NOT NULL AND locked_row.lease_until <= now()
ORDER BY locked_row.lease_until
LIMIT $2
FOR NO KEY UPDATE OF locked_row SKIP LOCKED
