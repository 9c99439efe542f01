-- Orders with a due hold on one of these rows, the longest overdue first. Lateral, so that each row is looked up by its key whatever the table
-- held when this was planned: on an empty one, a join would begin with everything that is due.
SELECT DISTINCT ON (due.expires_at, due.channel, due.order_ref) due.channel, due.order_ref
FROM unnest($1::text[], $2::text[]) AS short (sku, warehouse)
CROSS JOIN LATERAL (
    SELECT held.expires_at, held.channel, held.order_ref
    FROM reservation AS held
    WHERE held.sku = short.sku AND held.warehouse = short.warehouse AND held.state = 'held' AND held.expires_at <= $3
    ORDER BY held.expires_at
    LIMIT $4
) AS due
ORDER BY due.expires_at, due.channel, due.order_ref
LIMIT $4
