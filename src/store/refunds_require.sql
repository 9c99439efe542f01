-- Refunds that are required; one that came in the same batch is settled with it.
INSERT INTO refund_required (provider, payment_id, reason, event_id, amount, currency, at, settled_at)
SELECT
    required.provider, required.payment_id, required.reason, required.event_id, required.amount, required.currency, $8,
    CASE WHEN required.settled THEN $8 END
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::boolean[])
    AS required (provider, payment_id, reason, event_id, amount, currency, settled)
