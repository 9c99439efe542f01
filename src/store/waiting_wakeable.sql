-- Orders that have come although something still waits for them, except what waits until a held order is confirmed. None should ever be found:
-- this is the net. Lateral, so that it begins with what waits and never with all orders, whatever the tables held when this was planned.
SELECT DISTINCT waiting.channel, waiting.order_ref
FROM waiting_message AS waiting
CROSS JOIN LATERAL (
    SELECT FROM sales_order AS arrived
    WHERE arrived.channel = waiting.channel AND arrived.order_ref = waiting.order_ref AND arrived.state <> 'awaited'
        AND NOT (arrived.state = 'held' AND starts_with(waiting.subject, 'shipment.'))
    LIMIT 1
) AS arrived
WHERE waiting.order_ref IS NOT NULL
LIMIT $1
