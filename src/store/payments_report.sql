-- What gateways said for the first time.
INSERT INTO payment_report (provider, payment_id, verb, event_id, amount, currency, reason, at)
SELECT said.provider, said.payment_id, said.verb, said.event_id, said.amount, said.currency, said.reason, $8
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[])
    AS said (provider, payment_id, verb, event_id, amount, currency, reason)
