DELETE FROM broker_object WHERE name = ANY ($1::text[])
