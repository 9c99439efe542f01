-- The newest instant that the base knows: of the last thing told, moved, refused, and of the newest line's steps. Each found by its key.
SELECT greatest(
    (SELECT written_at FROM outbox ORDER BY id DESC LIMIT 1),
    (SELECT at FROM stock_movement ORDER BY id DESC LIMIT 1),
    (SELECT opened_at FROM dead_letter ORDER BY id DESC LIMIT 1),
    (SELECT at FROM reservation_event ORDER BY reservation_id DESC, id DESC LIMIT 1)
)
