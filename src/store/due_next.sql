-- In how many milliseconds the next hold ends; negative where one has.
SELECT ceil(extract(epoch FROM min(expires_at) - clock_timestamp()) * 1000)::bigint
FROM sales_order
WHERE state = 'held'
