-- What was noticed of these streams before the replay was asked for is made good by it, unless it went back to a time after that only.
WITH done AS (
    UPDATE outbox_replay SET done_at = clock_timestamp() WHERE id = $1 AND done_at IS NULL RETURNING requested_at, since
)
UPDATE broker_loss SET over_at = clock_timestamp()
FROM done
WHERE broker_loss.name = ANY ($2::text[]) AND broker_loss.over_at IS NULL
    AND broker_loss.raised_at <= done.requested_at AND broker_loss.raised_at >= done.since
