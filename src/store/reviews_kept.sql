-- The message that is kept with a review, until it is resolved.
SELECT id, stream, sequence, received_at, consumer, subject, headers, body
FROM waiting_message WHERE review_id = $1
