-- Sessions: those that are named, and those whose transaction has locked or changed rows of stock, whichever these are.
WITH rows_of_stock AS (
    SELECT DISTINCT pid
    FROM pg_locks
    WHERE locktype = 'relation' AND relation = 'stock'::regclass AND granted AND mode IN ('RowShareLock', 'RowExclusiveLock')
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
)
SELECT
    session.pid, coalesce(session.application_name, '') AS application, coalesce(session.usename::text, '') AS who,
    coalesce(host(session.client_addr), 'a local socket') AS address, coalesce(session.state, 'not to be seen') AS state,
    extract(epoch FROM clock_timestamp() - session.xact_start)::double precision AS transaction_s,
    coalesce(session.query, '') AS query,
    rows_of_stock.pid IS NOT NULL AS has_rows
FROM pg_stat_activity AS session
LEFT JOIN rows_of_stock ON rows_of_stock.pid = session.pid
WHERE (session.pid = ANY ($1::int[]) OR rows_of_stock.pid IS NOT NULL) AND session.pid <> pg_backend_pid()
ORDER BY session.xact_start
