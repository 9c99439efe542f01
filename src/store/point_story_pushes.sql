-- What is open, and the newest that was queued at all.
WITH queued AS (
    SELECT *, max(version) OVER () AS newest
    FROM stock_push
    WHERE sku = $1 AND channel = $2 AND warehouse = $3
)
SELECT id, version, desired_qty, state, attempts, last_error, created_at
FROM queued
WHERE version = newest OR state IN ('pending', 'sending', 'unknown', 'needs_review')
ORDER BY version DESC
