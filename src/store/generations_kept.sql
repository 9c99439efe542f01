-- For how many seconds the current generation should have been the next one (negative: not yet), and the age of the oldest row there may be.
-- A generation is a third of what is kept, and the one to be emptied ended as long ago as rows are kept.
SELECT
    next.number,
    extract(epoch FROM clock_timestamp() - greatest(
        present.opened_at + make_interval(secs => $2::double precision / 3),
        next.closed_at + make_interval(secs => $2::double precision)
    ))::double precision AS overdue_s,
    extract(epoch FROM clock_timestamp() - (SELECT min(opened_at) FROM generation WHERE kept = $1))::double precision AS oldest_s
FROM generation AS present
JOIN generation AS next ON next.kept = present.kept AND next.number = (present.number + 1) % 4
WHERE present.kept = $1 AND present.current
