SELECT coalesce(reconciled_at >= $2, false) FROM publish_channel WHERE channel = $1
