-- The constraint of the table judges each period once more.
INSERT INTO slot_hold (id, channel, order_ref, resource, during, state, cancelled, expires_at, created_at)
SELECT
    slot.id, slot.channel, slot.order_ref, slot.resource, tstzrange(slot.begins, slot.ends), slot.state, slot.cancelled,
    slot.expires_at, $10
FROM unnest(
    $1::bigint[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::timestamptz[], $7::text[], $8::boolean[],
    $9::timestamptz[]
) AS slot (id, channel, order_ref, resource, begins, ends, state, cancelled, expires_at)
