-- New figures, each only if the row is as it was decided on. The row's own constraints judge them once more.
UPDATE stock
SET on_hand = change.on_hand,
    reserved = change.reserved,
    version = change.version,
    updated_at = $8
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
    AS change (sku, warehouse, on_hand, reserved, version, version_before, available_before)
WHERE stock.sku = change.sku
    AND stock.warehouse = change.warehouse
    AND stock.version = change.version_before
    AND stock.on_hand - stock.reserved = change.available_before
    AND change.reserved <= change.on_hand
