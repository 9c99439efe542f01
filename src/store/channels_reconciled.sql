-- All of it has been read, from that instant on.
UPDATE publish_channel SET reconciled_at = $2 WHERE channel = $1
