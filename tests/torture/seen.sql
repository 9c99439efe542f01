-- What has happened by now, so that a run shows whether its checks had anything to check.
SELECT string_agg(what || ' ' || times, ', ' ORDER BY what)
FROM (
    SELECT 'line ' || to_state AS what, count(*) AS times FROM reservation_event WHERE from_state IS DISTINCT FROM to_state GROUP BY to_state
    UNION ALL SELECT 'line had again', count(*) FROM reservation_event WHERE reason = 'had_again'
    UNION ALL SELECT 'slot ' || to_state, count(*) FROM slot_event GROUP BY to_state
    UNION ALL SELECT 'slot had again', count(*) FROM slot_event WHERE reason = 'had_again'
    UNION ALL SELECT 'rejected ' || rejection, count(*) FROM sales_order WHERE state = 'rejected' GROUP BY rejection
    UNION ALL SELECT 'payment ' || state, count(*) FROM payment GROUP BY state
    UNION ALL SELECT 'required ' || reason, count(*) FROM refund_required GROUP BY reason
    UNION ALL SELECT 'required settled', count(*) FROM refund_required WHERE settled_at IS NOT NULL
    UNION ALL SELECT 'parcel ' || kind, count(*) FROM parcel_line GROUP BY kind
    UNION ALL SELECT 'review ' || kind, count(*) FROM review_item GROUP BY kind
    UNION ALL SELECT 'review resolved', count(*) FROM review_item WHERE resolved_at IS NOT NULL
    UNION ALL SELECT 'dead ' || reason, count(*) FROM dead_letter GROUP BY reason
) AS seen
