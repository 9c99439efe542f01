-- Whether an order of the channel was refused within a day and nobody has seen to it. After that it holds nothing up any more: who sold it has asked.
SELECT EXISTS (
    SELECT FROM dead_letter
    WHERE resolved_at IS NULL AND opened_at > now() - interval '1 day' AND subject = 'order.created.' || $1
) OR EXISTS (
    SELECT FROM dead_letter
    WHERE resolved_at IS NULL AND opened_at > now() - interval '1 day' AND subject = 'order.renewed.' || $1
)
