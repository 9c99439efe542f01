-- Invariant 4, for orders: an order is in the first state, by the precedence that is given, that any of its lines or slots has; a rejected or
-- awaited one has none. Joined in full: a line or a slot without its order is found here.
WITH lines AS (
    SELECT channel, order_ref, min(array_position($1::text[], state)) AS place, min(id) AS first_id
    FROM reservation
    GROUP BY order_ref, channel
),
slots AS (
    SELECT channel, order_ref, min(array_position($1::text[], state)) AS place, min(id) AS first_id
    FROM slot_hold
    GROUP BY order_ref, channel
),
orders AS (
    -- What an order says, and what the first of its lines and slots says.
    SELECT
        channel, order_ref, sales_order.state, ($1::text[])[least(lines.place, slots.place)] AS state_of_lines,
        lines.first_id AS first_line, slots.first_id AS first_slot
    FROM sales_order
    FULL JOIN lines USING (order_ref, channel)
    FULL JOIN slots USING (order_ref, channel)
)
SELECT
    channel, order_ref,
    CASE WHEN state IS NULL THEN first_line END AS reservation_id,
    CASE WHEN state IS NULL AND first_line IS NULL THEN first_slot END AS slot_hold_id,
    CASE
        WHEN state IS NOT NULL THEN coalesce(state_of_lines || ', as its lines have it', 'lines')
        WHEN first_line IS NOT NULL THEN 'the order of this reservation'
        ELSE 'the order of this slot'
    END AS expected,
    CASE WHEN state_of_lines IS NULL OR state IS NULL THEN 'none' ELSE state END AS found
FROM orders
WHERE CASE
    WHEN state IN ('rejected', 'awaited') THEN state_of_lines IS NOT NULL
    ELSE state IS DISTINCT FROM state_of_lines
END
ORDER BY order_ref, channel
