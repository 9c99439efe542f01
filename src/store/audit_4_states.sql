-- Invariant 4: a line is in the state in which its last step left it. Joined in full: there are no foreign keys, and a journal without its line
-- or a line without its journal is found here.
WITH last_step AS (
    SELECT DISTINCT ON (reservation_id) reservation_id, to_state, sku, warehouse
    FROM reservation_event
    ORDER BY reservation_id, id DESC
)
SELECT
    coalesce(line.id, last_step.reservation_id) AS reservation_id,
    line.channel, line.order_ref,
    coalesce(line.sku, last_step.sku) AS sku,
    coalesce(line.warehouse, last_step.warehouse) AS warehouse,
    CASE
        WHEN line.id IS NULL THEN 'the reservation of this journal'
        ELSE coalesce(last_step.to_state, 'the journal of this reservation')
    END AS expected,
    CASE WHEN last_step.to_state IS NULL OR line.id IS NULL THEN 'none' ELSE line.state END AS found
FROM reservation AS line
FULL JOIN last_step ON last_step.reservation_id = line.id
WHERE line.state IS DISTINCT FROM last_step.to_state
ORDER BY 1
