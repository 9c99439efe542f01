-- Payments: those of the named orders, and the named ones whosever they are. With each what was said of it before and why refunds of it were
-- required. The payments of an order change only under its lock, which is held; of another order's only the order counts, which never changes.
-- Lateral, so that each payment costs a few look-ups whatever the tables hold.
WITH wanted AS (
    SELECT payment.payment_id, payment.provider
    FROM unnest($1::text[], $2::text[]) AS named (channel, order_ref)
    JOIN payment ON payment.order_ref = named.order_ref AND payment.channel = named.channel
    UNION
    SELECT named.payment_id, named.provider FROM unnest($3::text[], $4::text[]) AS named (provider, payment_id)
)
SELECT
    payment.provider, payment.payment_id, payment.channel, payment.order_ref, payment.state, payment.amount, payment.currency,
    payment.refunded_amount, payment.pays,
    said.verbs, said.event_ids, said.amounts, said.currencies, refund.reasons
FROM wanted
JOIN payment ON payment.payment_id = wanted.payment_id AND payment.provider = wanted.provider
LEFT JOIN LATERAL (
    SELECT
        array_agg(report.verb ORDER BY report.verb, report.event_id) AS verbs,
        array_agg(report.event_id ORDER BY report.verb, report.event_id) AS event_ids,
        array_agg(report.amount ORDER BY report.verb, report.event_id) AS amounts,
        array_agg(report.currency ORDER BY report.verb, report.event_id) AS currencies
    FROM payment_report AS report
    WHERE report.payment_id = payment.payment_id AND report.provider = payment.provider
) AS said ON true
LEFT JOIN LATERAL (
    SELECT array_agg(required.reason ORDER BY required.reason, required.event_id) AS reasons
    FROM refund_required AS required
    WHERE required.payment_id = payment.payment_id AND required.provider = payment.provider
) AS refund ON true
