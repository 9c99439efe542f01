-- The last audit, if there was one: how many seconds ago it began and how many it took, when it ended, and what it found.
SELECT
    extract(epoch FROM statement_timestamp() - began_at)::double precision AS began_s_ago,
    extract(epoch FROM ended_at - began_at)::double precision AS took_s,
    ended_at, findings
FROM audit_run
ORDER BY id DESC
LIMIT 1
