-- Locks rows, and tells which are resolved: of two who resolve one review, the later waits here and finds it so. A condition would have the index
-- of open rows read whole.
SELECT review_item.id, review_item.resolved_at IS NOT NULL AS resolved
FROM unnest($1::bigint[]) AS asked (id)
JOIN review_item ON review_item.id = asked.id
ORDER BY review_item.id
FOR NO KEY UPDATE OF review_item
