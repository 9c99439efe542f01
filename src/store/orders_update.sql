-- New columns for orders, each only if it is still in the state it was decided on.
UPDATE sales_order
SET state = change.after,
    event_id = change.event_id,
    payment_mode = change.payment_mode,
    total_amount = change.total_amount,
    currency = change.currency,
    digest = change.digest,
    rejection = change.rejection,
    created_at = change.created_at,
    held_since = change.held_since,
    expires_at = change.expires_at,
    -- The last one stays, also of an order that is held in the end.
    denial = coalesce(change.denial::json, sales_order.denial)
FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[], $9::bytea[], $10::text[],
    $11::timestamptz[], $12::timestamptz[], $13::timestamptz[], $14::text[]
) AS change (
    channel, order_ref, before, after, event_id, payment_mode, total_amount, currency, digest, rejection,
    created_at, held_since, expires_at, denial
)
WHERE sales_order.channel = change.channel
    AND sales_order.order_ref = change.order_ref
    AND sales_order.state = change.before
