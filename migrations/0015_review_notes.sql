-- Who resolved a review, and what they said: without it a review that is gone tells nobody anything.

ALTER TABLE review_item
    ADD COLUMN resolved_by text,
    ADD COLUMN note        text,
    ADD CONSTRAINT review_item_resolved_by_somebody CHECK ((resolved_by IS NULL) = (note IS NULL));

-- The message that is kept with a review.
CREATE INDEX waiting_message_by_review ON waiting_message (review_id) WHERE review_id IS NOT NULL;
