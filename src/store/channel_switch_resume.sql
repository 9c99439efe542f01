INSERT INTO publish_channel (channel, safety_stock)
VALUES ($1, $2)
ON CONFLICT (channel) DO UPDATE SET paused_at = NULL, halted_until = NULL, halted_reason = NULL, halts = 0
