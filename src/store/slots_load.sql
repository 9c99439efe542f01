-- All slots of orders. They change only under their order's lock, which is held.
SELECT
    hold.channel, hold.order_ref, hold.id, hold.resource, lower(hold.during) AS begins, upper(hold.during) AS ends,
    hold.state, hold.cancelled
FROM unnest($1::text[], $2::text[]) AS named (channel, order_ref)
JOIN slot_hold AS hold ON hold.channel = named.channel AND hold.order_ref = named.order_ref
ORDER BY hold.id
