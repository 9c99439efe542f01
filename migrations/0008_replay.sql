-- What the relay has been asked to tell again, and the stock rows whose last telling is in doubt because of it.
--
-- The outbox is left as it is: a replay is a walk over rows that were told, remembered here, so that a relay that dies goes on where it was,
-- and so that the relay of another process does it. A stock row is in doubt before anything old is told of it, and until its present figures
-- have been stored to be told: once a row, however often it was told.

CREATE TABLE outbox_replay (
    id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    stream       text        NOT NULL,
    since        timestamptz NOT NULL,
    -- Rows up to this one were told again; the last one to tell.
    told_to      bigint      NOT NULL,
    last_id      bigint      NOT NULL,
    told_rows    bigint      NOT NULL DEFAULT 0,
    requested_at timestamptz NOT NULL,
    done_at      timestamptz
);

CREATE INDEX outbox_replay_open ON outbox_replay (stream, id) WHERE done_at IS NULL;

CREATE TABLE stock_doubt (
    sku       text COLLATE "C" NOT NULL,
    warehouse text COLLATE "C" NOT NULL,
    PRIMARY KEY (sku, warehouse)
);

-- Where a replay begins.
CREATE INDEX outbox_by_time ON outbox (written_at);
