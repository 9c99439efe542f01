UPDATE publish_channel SET checked_at = clock_timestamp() WHERE channel = $1
