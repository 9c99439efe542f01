-- Invariant 5: no two held or confirmed slots of a resource overlap. The table's own constraint says the same; this asks whether it still stands.
-- In order of their beginnings each must begin when all before it have ended: one pass, where comparing each with each would be many.
WITH live AS (
    SELECT
        id, channel, order_ref, resource, during,
        max(upper(during)) OVER (
            PARTITION BY resource ORDER BY lower(during), id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS taken_until
    FROM slot_hold
    WHERE state IN ('held', 'confirmed')
)
SELECT
    id AS slot_hold_id, channel, order_ref, resource,
    format('not before %s, until when others have it', taken_until) AS expected,
    format('from %s', lower(during)) AS found
FROM live
WHERE lower(during) < taken_until
ORDER BY resource, lower(during), id
