-- Invariant 4: a slot is in the state in which its last step left it, and is what that step was about. Joined in full: there are no foreign keys,
-- and a journal without its slot or a slot without its journal is found here.
WITH last_step AS (
    SELECT DISTINCT ON (slot_hold_id) slot_hold_id, to_state, resource, during
    FROM slot_event
    ORDER BY slot_hold_id, id DESC
)
SELECT
    coalesce(hold.id, last_step.slot_hold_id) AS slot_hold_id,
    hold.channel, hold.order_ref,
    coalesce(hold.resource, last_step.resource) AS resource,
    CASE
        WHEN hold.id IS NULL THEN 'the slot of this journal'
        WHEN last_step.to_state IS NULL THEN 'the journal of this slot'
        WHEN hold.state = last_step.to_state THEN format('%s %s', last_step.resource, last_step.during)
        ELSE last_step.to_state
    END AS expected,
    CASE
        WHEN last_step.to_state IS NULL OR hold.id IS NULL THEN 'none'
        WHEN hold.state = last_step.to_state THEN format('%s %s', hold.resource, hold.during)
        ELSE hold.state
    END AS found
FROM slot_hold AS hold
FULL JOIN last_step ON last_step.slot_hold_id = hold.id
WHERE hold.state IS DISTINCT FROM last_step.to_state
    OR hold.resource <> last_step.resource
    OR hold.during <> last_step.during
ORDER BY 1
