-- The order's row.
SELECT
    state, event_id, payment_mode, total_amount, currency, rejection, created_at, held_since, expires_at, denial
FROM sales_order
WHERE channel = $1 AND order_ref = $2
