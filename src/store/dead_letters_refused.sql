-- Which messages of these spans of streams were refused, and whether they were resolved since: a condition would have the index of open rows read
-- whole. There are few, and a batch is a short span.
SELECT
    dead_letter.stream, dead_letter.sequence, dead_letter.received_at, dead_letter.reason, dead_letter.detail,
    dead_letter.resolved_at IS NOT NULL AS resolved
FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS span (stream, first, last)
JOIN dead_letter ON dead_letter.stream = span.stream AND dead_letter.sequence BETWEEN span.first AND span.last
