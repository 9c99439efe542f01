-- Makes a channel's row, or notes its safety stock. Returns the one that was noted before, none where the channel is new.
WITH standing AS (SELECT safety_stock FROM publish_channel WHERE channel = $1 FOR NO KEY UPDATE)
INSERT INTO publish_channel AS channel (channel, safety_stock)
VALUES ($1, $2)
ON CONFLICT (channel) DO UPDATE SET safety_stock = EXCLUDED.safety_stock
RETURNING (SELECT safety_stock FROM standing)
