-- Locks the orders that stand there, in the order of their keys.
SELECT
    locked_row.channel, locked_row.order_ref, locked_row.state, locked_row.event_id, locked_row.payment_mode,
    locked_row.total_amount, locked_row.currency, locked_row.digest, locked_row.rejection,
    locked_row.created_at, locked_row.held_since, locked_row.expires_at
FROM unnest($1::text[], $2::text[]) AS named (channel, order_ref)
JOIN sales_order AS locked_row ON locked_row.channel = named.channel AND locked_row.order_ref = named.order_ref
ORDER BY locked_row.channel, locked_row.order_ref
FOR NO KEY UPDATE OF locked_row
