-- New payments, in the order of their keys. Where another order has named one of these ids meanwhile, its commit is waited for, a row is missing
-- from the count, and everything is decided again with that row in sight.
INSERT INTO payment (provider, payment_id, channel, order_ref, state, amount, currency, refunded_amount, pays, updated_at)
SELECT
    new.provider, new.payment_id, new.channel, new.order_ref, new.state, new.amount, new.currency, new.refunded_amount, new.pays, $10
FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::bigint[], $9::boolean[]
) AS new (provider, payment_id, channel, order_ref, state, amount, currency, refunded_amount, pays)
ON CONFLICT DO NOTHING
