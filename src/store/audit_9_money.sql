-- Invariant 9: money that was taken pays an order that is the customer's, or is required back, or a person was asked about it. What was refunded
-- is settled. A person who has answered has answered: a review that is resolved counts. (Money whose order has not come waits: invariant 6.)
SELECT
    payment.provider, payment.payment_id, payment.channel, payment.order_ref,
    'a confirmed reservation, a required refund, or a review' AS expected,
    format('order %s%s', coalesce(sales_order.state, 'unknown'), CASE WHEN payment.pays THEN ', paid by it' ELSE '' END) AS found
FROM payment
LEFT JOIN sales_order ON sales_order.order_ref = payment.order_ref AND sales_order.channel = payment.channel
LEFT JOIN (
    SELECT DISTINCT payment_id, provider FROM refund_required WHERE reason <> 'partially_cancelled'
) AS refund ON refund.payment_id = payment.payment_id AND refund.provider = payment.provider
LEFT JOIN (
    SELECT DISTINCT subject ->> 'payment_id' AS payment_id, subject ->> 'provider' AS provider
    FROM review_item
    WHERE kind IN ('payment_mismatch', 'refund_unasked')
) AS review ON review.payment_id = payment.payment_id AND review.provider = payment.provider
WHERE payment.state = 'succeeded'
    AND NOT (payment.pays AND coalesce(sales_order.state IN ('confirmed', 'shipped'), false))
    AND refund.payment_id IS NULL
    AND review.payment_id IS NULL
ORDER BY payment.provider, payment.payment_id
