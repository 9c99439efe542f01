SELECT id, version, external_id, external_warehouse_id, qty, withdrawal, began_at, ended_at, outcome, detail
FROM push_attempt
WHERE sku = $1 AND channel = $2 AND warehouse = $3
ORDER BY id DESC
LIMIT $4
