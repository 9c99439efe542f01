-- What gateways said of the order's payments, in order.
SELECT
    report.provider, report.payment_id, report.verb, report.event_id, report.amount, report.currency, report.reason, report.at
FROM payment
JOIN payment_report AS report ON report.payment_id = payment.payment_id AND report.provider = payment.provider
WHERE payment.channel = $1 AND payment.order_ref = $2
ORDER BY report.at, report.payment_id, report.verb, report.event_id
