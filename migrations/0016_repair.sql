-- What `audit --repair-plan --apply` changed: a counter has no journal of its own, and a hand in it must leave a trace.

CREATE TABLE repair (
    event_id  text        COLLATE "C" PRIMARY KEY,
    kind      text        NOT NULL,
    sku       text        COLLATE "C" NOT NULL,
    warehouse text        COLLATE "C" NOT NULL,
    -- The figure before and after: of `reserved`, of the movements' sum, or of the version.
    before    bigint      NOT NULL,
    after     bigint      NOT NULL,
    at        timestamptz NOT NULL,
    CONSTRAINT repair_kind CHECK (kind IN ('reserved', 'counted', 'retold'))
);
