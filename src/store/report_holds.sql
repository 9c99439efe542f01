-- What became of holds: of the orders that were held for money, how long each took to be paid, against how long it was held. One row, whatever
-- the tables hold. Quantiles are values that occurred, of which that part of all is no greater.
WITH
-- Orders that were held, from $1 on, of channel $2 or all. A hold runs from `held_since`; where a renewal had the order again, that is its last one.
held AS (
    SELECT
        channel, order_ref, state, created_at,
        extract(epoch FROM expires_at - coalesce(held_since, created_at))::double precision AS hold_s
    FROM sales_order
    WHERE payment_mode = 'online' AND state NOT IN ('awaited', 'rejected')
        AND created_at >= $1 AND ($2::text IS NULL OR channel = $2)
),
-- When money first came for an order, and whether any of it pays.
paid AS (
    SELECT payment.channel, payment.order_ref, min(report.at) AS at, bool_or(payment.pays) AS pays
    FROM payment
    JOIN payment_report AS report ON report.payment_id = payment.payment_id AND report.provider = payment.provider
    WHERE report.verb = 'succeeded'
    GROUP BY payment.channel, payment.order_ref
),
-- Orders that late money had again. A canceller's words can be the same, but give back and do not take.
had_again AS (
    SELECT DISTINCT reservation.channel, reservation.order_ref
    FROM reservation_event AS step
    JOIN reservation ON reservation.id = step.reservation_id
    WHERE step.to_state = 'held' AND step.reason = 'had_again'
),
-- Orders whose late money had to go back.
sent_back AS (
    SELECT DISTINCT payment.channel, payment.order_ref
    FROM refund_required AS refund
    JOIN payment ON payment.payment_id = refund.payment_id AND payment.provider = refund.provider
    WHERE refund.reason = 'expired_and_sold_out'
),
fate AS (
    SELECT
        held.hold_s,
        greatest(0, extract(epoch FROM paid.at - held.created_at))::double precision AS paid_s,
        CASE
            WHEN had_again.order_ref IS NOT NULL THEN 'had_again'
            WHEN sent_back.order_ref IS NOT NULL THEN 'sent_back'
            WHEN paid.pays THEN 'in_time'
            WHEN paid.at IS NOT NULL THEN 'otherwise'
            WHEN held.state = 'expired' THEN 'never_paid'
            WHEN held.state = 'held' THEN 'open'
            ELSE 'otherwise'
        END AS word
    FROM held
    LEFT JOIN paid ON paid.order_ref = held.order_ref AND paid.channel = held.channel
    LEFT JOIN had_again ON had_again.order_ref = held.order_ref AND had_again.channel = held.channel
    LEFT JOIN sent_back ON sent_back.order_ref = held.order_ref AND sent_back.channel = held.channel
)
SELECT
    count(*) AS orders,
    count(*) FILTER (WHERE word = 'in_time') AS in_time,
    count(*) FILTER (WHERE word = 'had_again') AS had_again,
    count(*) FILTER (WHERE word = 'sent_back') AS sent_back,
    count(*) FILTER (WHERE word = 'never_paid') AS never_paid,
    count(*) FILTER (WHERE word = 'open') AS open,
    count(*) FILTER (WHERE word = 'otherwise') AS otherwise,
    percentile_disc(ARRAY[0.5, 0.9, 0.95, 0.99, 1]) WITHIN GROUP (ORDER BY paid_s)
        FILTER (WHERE word IN ('in_time', 'had_again', 'sent_back')) AS paid_s,
    percentile_disc(ARRAY[0.5, 0.9, 0.95, 0.99, 1]) WITHIN GROUP (ORDER BY hold_s) AS hold_s,
    percentile_disc(ARRAY[0.5, 0.9, 0.95, 0.99, 1]) WITHIN GROUP (ORDER BY paid_s / hold_s)
        FILTER (WHERE word IN ('in_time', 'had_again', 'sent_back') AND hold_s > 0) AS paid_of_hold
FROM fate
