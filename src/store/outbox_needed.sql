-- What of a generation is still needed: for each of the streams the age of its oldest row that was not told, and whether something was told
-- less than so many seconds ago, or somebody has asked for what was told to be told again.
SELECT
    lane.stream,
    extract(epoch FROM statement_timestamp() - untold.written_at)::double precision AS untold_s,
    EXISTS (
        SELECT FROM outbox WHERE generation = $1 AND sent_at > statement_timestamp() - make_interval(secs => $2::double precision)
    ) OR EXISTS (SELECT FROM outbox_replay WHERE done_at IS NULL) AS told_lately
FROM unnest($3::text[]) AS lane (stream)
LEFT JOIN LATERAL (
    SELECT written_at FROM outbox
    WHERE generation = $1 AND stream = lane.stream AND sent_at IS NULL
    ORDER BY id
    LIMIT 1
) AS untold ON true
