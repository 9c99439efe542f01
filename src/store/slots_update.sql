-- New columns for slots, each only if it is still as it was decided on.
UPDATE slot_hold
SET state = change.after,
    cancelled = change.cancelled,
    expires_at = coalesce(change.expires_at, slot_hold.expires_at)
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::boolean[], $5::timestamptz[])
    AS change (id, before, after, cancelled, expires_at)
WHERE slot_hold.id = change.id
    AND slot_hold.state = change.before
