SELECT locked_row.*
FROM unnest($1::text[], $2::text[], $3::text[]) AS asked (sku, channel, warehouse)
JOIN publish_point AS locked_row
    ON locked_row.sku = asked.sku AND locked_row.channel = asked.channel AND locked_row.warehouse = asked.warehouse
ORDER BY locked_row.sku, locked_row.channel, locked_row.warehouse
FOR NO KEY UPDATE OF locked_row
