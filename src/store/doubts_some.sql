SELECT sku, warehouse FROM stock_doubt ORDER BY sku, warehouse LIMIT $1
