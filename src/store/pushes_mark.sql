-- What versions are now that were told last.
UPDATE stock_push AS push SET state = marked.state, last_error = coalesce(marked.error, push.last_error)
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[]) AS marked (sku, channel, warehouse, version, state, error)
WHERE push.sku = marked.sku AND push.channel = marked.channel AND push.warehouse = marked.warehouse AND push.version = marked.version
