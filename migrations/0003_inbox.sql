-- What has been decided, what waits, and which documents are taken.
--
-- The inbox is the only thing that makes an event count once: the broker's own window is minutes long. An order's creating event has no row
-- here, its order row is the claim.

CREATE TABLE processed_event (
    subject  text        COLLATE "C" NOT NULL,
    event_id text        COLLATE "C" NOT NULL,
    at       timestamptz NOT NULL,
    PRIMARY KEY (subject, event_id)
);

CREATE TABLE inventory_document (
    subject      text        COLLATE "C" NOT NULL,
    document_ref text        COLLATE "C" NOT NULL,
    digest       bytea       NOT NULL,
    event_id     text        NOT NULL,
    at           timestamptz NOT NULL,
    PRIMARY KEY (subject, document_ref)
);

-- A message that came before its order, or that waits for a person to make room. Its event id is claimed in the inbox, so that a redelivery
-- is known; the message itself stands here whole, to be decided when what it waits for happens.
CREATE TABLE waiting_message (
    id          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    channel     text        COLLATE "C",
    order_ref   text        COLLATE "C",
    review_id   bigint,
    stream      text        NOT NULL,
    sequence    bigint      NOT NULL,
    received_at timestamptz NOT NULL,
    consumer    text        NOT NULL,
    subject     text        COLLATE "C" NOT NULL,
    event_id    text        COLLATE "C" NOT NULL,
    headers     jsonb       NOT NULL,
    body        bytea       NOT NULL,
    since       timestamptz NOT NULL,
    -- Set once a person was asked about it.
    overdue     boolean     NOT NULL DEFAULT false,
    CONSTRAINT waiting_message_once UNIQUE (subject, event_id),
    CONSTRAINT waiting_message_for_something CHECK ((order_ref IS NOT NULL) <> (review_id IS NOT NULL)),
    CONSTRAINT waiting_message_order CHECK ((channel IS NULL) = (order_ref IS NULL))
);

CREATE INDEX waiting_message_by_order ON waiting_message (channel, order_ref) WHERE order_ref IS NOT NULL;
CREATE INDEX waiting_message_by_age ON waiting_message (since) WHERE order_ref IS NOT NULL AND NOT overdue;
