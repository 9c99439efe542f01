-- Required refunds that were refunded: all that are open of a payment, or those of partial cancels, whose amounts nobody here knows.
UPDATE refund_required
SET settled_at = $4
FROM unnest($1::text[], $2::text[], $3::boolean[]) AS refunded (provider, payment_id, whole)
WHERE refund_required.payment_id = refunded.payment_id
    AND refund_required.provider = refunded.provider
    AND refund_required.settled_at IS NULL
    AND (refunded.whole OR refund_required.reason = 'partially_cancelled')
