-- Which of the named resources there are.
SELECT slot_resource.resource
FROM unnest($1::text[]) AS named (resource)
JOIN slot_resource ON slot_resource.resource = named.resource
