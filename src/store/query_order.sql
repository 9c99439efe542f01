-- An order as it stands, with its lines and then its slots: one statement, so that all are of one instant.
SELECT
    orders.state, orders.payment_mode, orders.total_amount, orders.currency, orders.rejection, orders.created_at, orders.expires_at,
    part.sku, part.warehouse, part.qty, part.shipped_qty, part.returned_qty, part.resource, part.begins, part.ends, part.state AS part_state
FROM sales_order AS orders
LEFT JOIN LATERAL (
    SELECT
        0 AS kind, line.id, line.sku, line.warehouse, line.qty, line.shipped_qty, line.returned_qty,
        NULL AS resource, NULL::timestamptz AS begins, NULL::timestamptz AS ends, line.state
    FROM reservation AS line
    WHERE line.order_ref = orders.order_ref AND line.channel = orders.channel
    UNION ALL
    SELECT 1, slot.id, NULL, NULL, NULL, NULL, NULL, slot.resource, lower(slot.during), upper(slot.during), slot.state
    FROM slot_hold AS slot
    WHERE slot.order_ref = orders.order_ref AND slot.channel = orders.channel
) AS part ON true
WHERE orders.channel = $1 AND orders.order_ref = $2
ORDER BY part.kind, part.id
