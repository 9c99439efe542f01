-- What must be told to the world, what could not be processed, and what a person must look at.

-- One row per transaction and stream. Its id is taken after the locks, so that for two transactions that touched one row, id order is commit
-- order. The entries are packed by the program and not worth a second compression.
CREATE TABLE outbox (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    stream     text        NOT NULL,
    entries    bytea       NOT NULL,
    written_at timestamptz NOT NULL,
    sent_at    timestamptz
);

ALTER TABLE outbox ALTER COLUMN entries SET STORAGE EXTERNAL;

CREATE INDEX outbox_unsent ON outbox (stream, id) WHERE sent_at IS NULL;

-- A refused message, its body untouched. A redelivery of it is the same row.
CREATE TABLE dead_letter (
    id          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id    uuid        NOT NULL,
    stream      text        NOT NULL,
    sequence    bigint      NOT NULL,
    received_at timestamptz NOT NULL,
    consumer    text        NOT NULL,
    subject     text        NOT NULL,
    reason      text        NOT NULL,
    detail      text        NOT NULL,
    headers     jsonb       NOT NULL,
    body        bytea       NOT NULL,
    opened_at   timestamptz NOT NULL,
    resolved_at timestamptz,
    CONSTRAINT dead_letter_once UNIQUE (stream, sequence, received_at)
);

CREATE INDEX dead_letter_open ON dead_letter (id) WHERE resolved_at IS NULL;

CREATE TABLE review_item (
    id          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind        text        NOT NULL,
    -- What it is about, as one text: one review is open per kind and cause.
    cause       text        COLLATE "C" NOT NULL,
    subject     jsonb       NOT NULL,
    detail      text        NOT NULL,
    opened_at   timestamptz NOT NULL,
    resolved_at timestamptz
);

CREATE UNIQUE INDEX review_item_one_open ON review_item (kind, cause) WHERE resolved_at IS NULL;
