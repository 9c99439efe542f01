-- Slots that are under way: held until later, or confirmed and not over yet. One that is over needs no place anywhere.
SELECT count(*) AS slots, count(DISTINCT (slot.channel, slot.order_ref)) AS orders
FROM slot_hold AS slot
JOIN sales_order AS orders ON orders.order_ref = slot.order_ref AND orders.channel = slot.channel
WHERE (slot.state = 'confirmed' OR slot.state = 'held' AND orders.expires_at > transaction_timestamp())
    AND upper(slot.during) > transaction_timestamp()
