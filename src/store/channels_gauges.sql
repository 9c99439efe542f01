-- How a channel's points are.
SELECT
    (SELECT count(*) FROM publish_point WHERE channel = $1 AND due_at <= now() AND lease IS NULL) AS due,
    coalesce((SELECT extract(epoch FROM now() - min(due_at)) FROM publish_point WHERE channel = $1 AND due_at <= now() AND lease IS NULL), 0)
        ::double precision AS due_s,
    (SELECT count(*) FROM publish_point WHERE channel = $1 AND lease IS NOT NULL) AS flying,
    (SELECT count(*) FROM publish_point WHERE channel = $1 AND parked IS NOT NULL) AS parked,
    coalesce((SELECT sum(exposed_units) FROM publish_point WHERE channel = $1 AND exposed_units > 0), 0)::bigint AS exposed,
    coalesce((SELECT extract(epoch FROM now() - min(exposed_since)) FROM publish_point WHERE channel = $1 AND exposed_units > 0), 0)
        ::double precision AS exposed_s
