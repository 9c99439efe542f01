UPDATE broker_loss SET over_at = clock_timestamp()
WHERE over_at IS NULL AND (cardinality($1::text[]) = 0 OR name = ANY ($1::text[]))
RETURNING name
