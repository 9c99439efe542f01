-- Orders whose hold has ended, the longest overdue first. The statement's own instant, unlike the running clock, can bound an index scan; the
-- decision reads the clock again under the locks.
SELECT channel, order_ref
FROM sales_order
WHERE state = 'held' AND expires_at <= statement_timestamp()
ORDER BY expires_at
LIMIT $1
