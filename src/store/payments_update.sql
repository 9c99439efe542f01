-- New columns for payments, each only if it is still as it was decided on.
UPDATE payment
SET state = change.state,
    amount = change.amount,
    currency = change.currency,
    refunded_amount = change.refunded_amount,
    pays = change.pays,
    updated_at = $10
FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::bigint[], $7::text[], $8::bigint[], $9::boolean[]
) AS change (provider, payment_id, state_before, refunded_before, state, amount, currency, refunded_amount, pays)
WHERE payment.payment_id = change.payment_id
    AND payment.provider = change.provider
    AND payment.state = change.state_before
    AND payment.refunded_amount = change.refunded_before
