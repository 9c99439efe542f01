-- Orders that have come although something still waits for them. None should ever be found: this is the net.
SELECT DISTINCT waiting.channel, waiting.order_ref
FROM waiting_message AS waiting
JOIN sales_order AS arrived ON arrived.channel = waiting.channel AND arrived.order_ref = waiting.order_ref
WHERE waiting.order_ref IS NOT NULL AND arrived.state <> 'awaited'
LIMIT $1
