-- What has slots.
SELECT resource, name
FROM slot_resource
ORDER BY resource
