-- The age of the dead letter that was resolved longest ago, 0 without any.
SELECT coalesce(extract(epoch FROM statement_timestamp() - min(resolved_at)), 0)::double precision
FROM dead_letter WHERE resolved_at IS NOT NULL
