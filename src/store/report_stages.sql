-- What is stored of the way of these orders, in their order: when the order was claimed, when its batch decided, when the broker had the answer.
-- Nothing where that event did not make the order as it is. Lateral, so that each order costs a few look-ups whatever the tables hold.
SELECT created.created_at AS claimed_at, decided.at AS decided_at, told.sent_at AS told_at
FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS message (channel, order_ref, event_id, place)
LEFT JOIN LATERAL (
    SELECT sales_order.created_at FROM sales_order
    WHERE sales_order.order_ref = message.order_ref AND sales_order.channel = message.channel
        AND sales_order.event_id = message.event_id
    LIMIT 1
) AS created ON true
-- The clock of the batch, as the first step of any of its lines has it.
LEFT JOIN LATERAL (
    SELECT step.at
    FROM reservation
    JOIN reservation_event AS step ON step.reservation_id = reservation.id
    WHERE reservation.order_ref = message.order_ref AND reservation.channel = message.channel
        AND step.from_state IS NULL AND step.event_id = message.event_id
        AND created.created_at IS NOT NULL
    LIMIT 1
) AS decided ON true
-- The row that this batch told its answers in bears the same clock.
LEFT JOIN LATERAL (
    SELECT outbox.sent_at FROM outbox
    WHERE outbox.written_at = decided.at AND outbox.stream = 'RESERVATIONS'
    LIMIT 1
) AS told ON true
ORDER BY message.place
