-- The shipments, among those named, that are taken. They are taken only under their order's lock, which is held.
SELECT taken.channel, taken.order_ref, taken.shipment_ref, taken.warehouse, taken.digest
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS named (channel, order_ref, shipment_ref, warehouse)
JOIN shipment AS taken
    ON taken.channel = named.channel AND taken.order_ref = named.order_ref
    AND taken.shipment_ref = named.shipment_ref AND taken.warehouse = named.warehouse
