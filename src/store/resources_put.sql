-- Makes resources known, and gives those that are known another name. A row that says what is so already changes nothing and is not counted.
INSERT INTO slot_resource (resource, name)
SELECT given.resource, given.name
FROM unnest($1::text[], $2::text[]) AS given (resource, name)
ON CONFLICT (resource) DO UPDATE SET name = excluded.name WHERE slot_resource.name IS DISTINCT FROM excluded.name
