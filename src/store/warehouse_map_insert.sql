INSERT INTO channel_warehouse_map (warehouse, channel, external_warehouse_id, priority, safety_stock)
SELECT row.warehouse, row.channel, row.external_warehouse_id, row.priority, row.safety_stock
FROM unnest($1::text[], $2::text[], $3::text[], $4::integer[], $5::bigint[])
    AS row (warehouse, channel, external_warehouse_id, priority, safety_stock)
