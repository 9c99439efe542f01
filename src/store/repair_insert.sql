-- What was repaired, under the locks of the rows it is about.
INSERT INTO repair (event_id, kind, sku, warehouse, before, after, at)
SELECT done.event_id, done.kind, done.sku, done.warehouse, done.before, done.after, $7
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])
    AS done (event_id, kind, sku, warehouse, before, after)
