INSERT INTO waiting_message (
    channel, order_ref, review_id, stream, sequence, received_at, consumer, subject, event_id, headers, body, since
)
SELECT
    waiting.channel, waiting.order_ref, waiting.review_id, waiting.stream, waiting.sequence, waiting.received_at, waiting.consumer,
    waiting.subject, waiting.event_id, waiting.headers, waiting.body, $12
FROM unnest(
    $1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::timestamptz[], $7::text[], $8::text[], $9::text[],
    $10::jsonb[], $11::bytea[]
) AS waiting (
    channel, order_ref, review_id, stream, sequence, received_at, consumer, subject, event_id, headers, body
)
