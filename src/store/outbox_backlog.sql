-- How much is untold, for how long it has been, and where it begins.
SELECT count(*), coalesce(extract(epoch FROM statement_timestamp() - min(written_at)), 0)::double precision, min(id)
FROM outbox WHERE stream = $1 AND sent_at IS NULL
