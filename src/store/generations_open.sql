UPDATE generation SET current = true, opened_at = clock_timestamp(), closed_at = NULL
WHERE kept = $1 AND number = $2 AND NOT current
