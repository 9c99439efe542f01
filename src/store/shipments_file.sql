-- Takes shipments. One that somebody else took meanwhile is not changed, and the count says so.
INSERT INTO shipment (channel, order_ref, shipment_ref, warehouse, digest, event_id, at)
SELECT filed.channel, filed.order_ref, filed.shipment_ref, filed.warehouse, filed.digest, filed.event_id, $7
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bytea[], $6::text[])
    AS filed (channel, order_ref, shipment_ref, warehouse, digest, event_id)
ON CONFLICT DO NOTHING
