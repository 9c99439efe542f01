-- Who waits for which stock row, and behind whom. Of row locks the server shows only those that are waited for: the first in the queue has the
-- row's tuple lock and waits for the transaction that has the row, those after it wait for the tuple lock.
WITH waiter AS (
    SELECT pid, min(waitstart) AS since FROM pg_locks WHERE NOT granted GROUP BY pid
),
wanted AS (
    -- Which row: by its place in the table, where the version stands that is waited for.
    SELECT DISTINCT waiter.pid, waiter.since, queued.page, queued.tuple
    FROM waiter
    JOIN pg_locks AS queued ON queued.pid = waiter.pid
    WHERE queued.locktype = 'tuple' AND queued.relation = 'stock'::regclass
        AND queued.database = (SELECT oid FROM pg_database WHERE datname = current_database())
)
SELECT
    stock.sku, stock.warehouse, wanted.pid AS waiter,
    extract(epoch FROM clock_timestamp() - wanted.since)::double precision AS waits_s,
    blocker.pid AS behind
FROM wanted
CROSS JOIN LATERAL unnest(pg_blocking_pids(wanted.pid)) AS blocker (pid)
-- Gone where the row was changed since the lock was looked at.
LEFT JOIN stock ON stock.ctid = format('(%s,%s)', wanted.page, wanted.tuple)::tid
ORDER BY stock.sku, stock.warehouse, wanted.since, blocker.pid
