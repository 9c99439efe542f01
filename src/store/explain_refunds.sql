-- Refunds that were required of the order's payments, in order.
SELECT
    refund.provider, refund.payment_id, refund.reason, refund.event_id, refund.amount, refund.currency, refund.at, refund.settled_at
FROM payment
JOIN refund_required AS refund ON refund.payment_id = payment.payment_id AND refund.provider = payment.provider
WHERE payment.channel = $1 AND payment.order_ref = $2
ORDER BY refund.at, refund.payment_id, refund.reason, refund.event_id
