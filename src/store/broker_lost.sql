-- In the epoch in which whoever notices it knew the object. Where more is lost before the first is made good, it is the first that must be.
WITH forgotten AS (
    UPDATE broker_object SET made_at = coalesce($3, made_at), last_seq = $4, epoch = epoch + 1
    WHERE name = $1 AND epoch = $2
    RETURNING name
)
INSERT INTO broker_loss (name, kind, detail)
SELECT forgotten.name, $5, $6 FROM forgotten
ON CONFLICT (name) WHERE over_at IS NULL DO UPDATE SET
    kind = CASE WHEN broker_loss.kind = 'made_anew' THEN 'made_anew' ELSE excluded.kind END,
    detail = CASE WHEN broker_loss.kind = 'made_anew' THEN broker_loss.detail ELSE excluded.detail END,
    raised_at = excluded.raised_at
