-- What has waited too long and nobody was asked about, locked; another copy's are left to it.
UPDATE waiting_message SET overdue = true
FROM (
    SELECT id FROM waiting_message
    WHERE order_ref IS NOT NULL AND NOT overdue AND since <= statement_timestamp() - $1 * interval '1 second'
    ORDER BY since LIMIT $2
    FOR NO KEY UPDATE SKIP LOCKED
) AS late
WHERE waiting_message.id = late.id
RETURNING waiting_message.channel, waiting_message.order_ref, waiting_message.subject, waiting_message.event_id, clock_timestamp()
