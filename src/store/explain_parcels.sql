-- What left shelves for these lines and what came back, in order.
SELECT parcel.id, parcel.reservation_id, parcel.sku, parcel.warehouse, parcel.kind, parcel.qty, parcel.event_id, parcel.at
FROM unnest($1::bigint[]) AS line (id)
JOIN parcel_line AS parcel ON parcel.reservation_id = line.id
ORDER BY parcel.id
