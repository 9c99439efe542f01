-- Whether an order of the channel was refused and nobody has seen to it.
SELECT EXISTS (
    SELECT FROM dead_letter WHERE resolved_at IS NULL AND subject IN ('order.created.' || $1, 'order.renewed.' || $1)
)
