-- Orders with a due hold on one of these rows, the longest overdue first.
SELECT DISTINCT ON (due.expires_at, due.channel, due.order_ref) due.channel, due.order_ref
FROM unnest($1::text[], $2::text[]) AS short (sku, warehouse)
JOIN reservation AS due
    ON due.sku = short.sku AND due.warehouse = short.warehouse AND due.state = 'held' AND due.expires_at <= $3
ORDER BY due.expires_at, due.channel, due.order_ref
LIMIT $4
