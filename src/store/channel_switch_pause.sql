-- One that is paused stays paused since when it was.
INSERT INTO publish_channel AS standing (channel, safety_stock, paused_at)
VALUES ($1, $2, clock_timestamp())
ON CONFLICT (channel) DO UPDATE SET paused_at = coalesce(standing.paused_at, EXCLUDED.paused_at)
RETURNING paused_at
