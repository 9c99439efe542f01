UPDATE generation SET current = false, closed_at = clock_timestamp() WHERE kept = $1 AND current
