-- What was confirmed of an address that is the point's no more.
DELETE FROM stock_confirmed AS confirmed
USING unnest($1::text[], $2::text[], $3::text[]) AS moved (sku, channel, warehouse)
WHERE confirmed.sku = moved.sku AND confirmed.channel = moved.channel AND confirmed.warehouse = moved.warehouse
