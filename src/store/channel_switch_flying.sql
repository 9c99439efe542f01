-- A lease that has run out is nobody's.
SELECT count(*)
FROM publish_point
WHERE channel = $1 AND lease IS NOT NULL AND lease_until > statement_timestamp()
