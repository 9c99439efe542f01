-- Locks resources in the order of their names. The clock stands above the aggregate and is therefore read when the last lock has been taken.
WITH locked AS MATERIALIZED (
    SELECT locked_row.resource
    FROM unnest($1::text[]) AS wanted (resource)
    JOIN slot_resource AS locked_row ON locked_row.resource = wanted.resource
    ORDER BY locked_row.resource
    FOR NO KEY UPDATE OF locked_row
)
SELECT clock_timestamp() AS now, coalesce(array_agg(resource), '{}') AS resources FROM locked
