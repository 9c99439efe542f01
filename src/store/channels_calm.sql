-- It takes again what it is told.
UPDATE publish_channel SET halted_reason = NULL, halted_until = NULL, halts = 0 WHERE channel = $1 AND halts > 0
