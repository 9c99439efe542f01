-- In how many milliseconds the next hold ends; negative where one has, no row where nothing is held. Not min(): planned on an empty table it
-- would read all that is held for ever.
SELECT ceil(extract(epoch FROM due.expires_at - clock_timestamp()) * 1000)::bigint
FROM (SELECT expires_at FROM sales_order WHERE state = 'held' ORDER BY expires_at LIMIT 1) AS due
