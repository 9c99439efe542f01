-- It takes again what it is told. What was on its way when it was halted says nothing of that.
UPDATE publish_channel SET halted_reason = NULL, halted_until = NULL, halts = 0
WHERE channel = $1 AND halts > 0 AND halted_until <= clock_timestamp()
