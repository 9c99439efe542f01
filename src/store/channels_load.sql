-- What a channel's worker must know before each round, beside how long ago things were, by the database's clock.
SELECT
    paused_at IS NOT NULL AS paused,
    coalesce(halted_until > now(), false) AS halted,
    coalesce(reconcile_asked_at > coalesce(reconciled_at, '-infinity'), false) AS reconcile_asked,
    extract(epoch FROM now() - reconciled_at)::double precision AS reconciled_s
FROM publish_channel
WHERE channel = $1
