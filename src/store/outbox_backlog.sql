-- How much is untold, and for how long it has been.
SELECT count(*), coalesce(extract(epoch FROM statement_timestamp() - min(written_at)), 0)::double precision
FROM outbox WHERE stream = $1 AND sent_at IS NULL
