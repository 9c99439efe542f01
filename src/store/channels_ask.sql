-- All of it is to be read.
UPDATE publish_channel SET reconcile_asked_at = clock_timestamp() WHERE channel = $1 RETURNING reconcile_asked_at
