-- An audit that has just ended.
INSERT INTO audit_run (began_at, ended_at, findings, unchecked)
SELECT clock.at - $1 * interval '1 second', clock.at, $2::bigint[], $3
FROM (SELECT clock_timestamp() AS at) AS clock
RETURNING ended_at
