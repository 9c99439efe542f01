-- What waited for its order and waits for a person now. It is asked about by that review, and not as overdue.
UPDATE waiting_message
SET channel = NULL, order_ref = NULL, review_id = asked.review_id
FROM unnest($1::bigint[], $2::bigint[]) AS asked (id, review_id)
WHERE waiting_message.id = asked.id
