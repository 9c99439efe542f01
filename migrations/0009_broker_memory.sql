-- What the broker is known to have had, so that it is noticed when it has it no more; and what was noticed.

-- Streams by their names, consumers as STREAM/durable. `last_seq` is what was acknowledged last in a stream, or seen there. The epoch ends with
-- every loss: what somebody knows of an earlier one is not remembered any more, and of two who notice a loss one says so.
CREATE TABLE broker_object (
    name     text        COLLATE "C" PRIMARY KEY,
    made_at  timestamptz NOT NULL,
    last_seq bigint      NOT NULL DEFAULT 0,
    epoch    bigint      NOT NULL DEFAULT 0
);

CREATE TABLE broker_loss (
    id        bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name      text        COLLATE "C" NOT NULL,
    kind      text        NOT NULL,
    detail    text        NOT NULL,
    raised_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    over_at   timestamptz,
    CONSTRAINT broker_loss_kind CHECK (kind IN ('made_anew', 'tail_lost'))
);

CREATE UNIQUE INDEX broker_loss_one_open ON broker_loss (name) WHERE over_at IS NULL;
