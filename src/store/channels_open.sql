-- Makes a channel's row, or notes its safety stock. Returns the one that was noted before, as the statement's snapshot has it; none where the
-- channel is new. Whoever asks has the channel's turn.
INSERT INTO publish_channel AS channel (channel, safety_stock)
VALUES ($1, $2)
ON CONFLICT (channel) DO UPDATE SET safety_stock = EXCLUDED.safety_stock
RETURNING (SELECT before.safety_stock FROM publish_channel AS before WHERE before.channel = $1)
