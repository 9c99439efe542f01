-- How many seconds ago the last audit began, if there was one.
SELECT extract(epoch FROM statement_timestamp() - began_at)::double precision FROM audit_run ORDER BY id DESC LIMIT 1
