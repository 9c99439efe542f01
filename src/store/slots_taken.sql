-- Who has a part of one of these periods. The resources are locked, so this stays so. Lateral, and not to be merged into the rest (that is what
-- OFFSET is for), so that each period is looked up in the constraint's index whatever the table held when this was planned: on an empty one, a
-- join would read all that is live. Who has a part of several wanted periods comes once for each.
SELECT hold.resource, hold.begins, hold.ends, hold.channel, hold.order_ref, hold.expires_at
FROM unnest($1::text[], $2::timestamptz[], $3::timestamptz[]) AS wanted (resource, begins, ends)
CROSS JOIN LATERAL (
    SELECT
        slot_hold.resource, lower(slot_hold.during) AS begins, upper(slot_hold.during) AS ends, slot_hold.channel, slot_hold.order_ref,
        CASE WHEN slot_hold.state = 'held' THEN slot_hold.expires_at END AS expires_at
    FROM slot_hold
    WHERE slot_hold.resource = wanted.resource
        AND slot_hold.during && tstzrange(wanted.begins, wanted.ends)
        AND slot_hold.state IN ('held', 'confirmed')
    OFFSET 0
) AS hold
