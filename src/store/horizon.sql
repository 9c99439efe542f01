-- Who holds the oldest transaction that keeps dead rows from being removed, and for how many seconds. Sessions of other users are seen with
-- the privileges of pg_read_all_stats only.
SELECT holder.who, extract(epoch FROM clock_timestamp() - holder.since)::double precision AS seconds
FROM (
    SELECT
        format('session %s of %s (%s)', pid, usename, coalesce(nullif(application_name, ''), 'no name')) AS who,
        xact_start AS since
    FROM pg_stat_activity
    WHERE
        datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
        AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)
    UNION ALL
    SELECT format('prepared transaction %s of %s', gid, owner), prepared
    FROM pg_prepared_xacts
    WHERE database = current_database()
) AS holder
WHERE holder.since IS NOT NULL
ORDER BY holder.since
LIMIT 1
