-- Whether an order of the channel was refused and nobody has seen to it.
SELECT EXISTS (SELECT FROM dead_letter WHERE resolved_at IS NULL AND subject = 'order.created.' || $1)
    OR EXISTS (SELECT FROM dead_letter WHERE resolved_at IS NULL AND subject = 'order.renewed.' || $1)
