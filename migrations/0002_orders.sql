-- Orders, their reservations, and the journal of every step.
--
-- A one-line order costs three rows and six index entries, and that is the ceiling of throughput. Hence no foreign keys here (the audit is
-- their guard), the journal's key leads with the reservation, and what is due is found by partial indexes.

CREATE TABLE sales_order (
    channel      text        COLLATE "C" NOT NULL,
    order_ref    text        COLLATE "C" NOT NULL,
    state        text        NOT NULL,
    -- The event that created the order: the claim that makes its redelivery known. None while something else came before the order.
    event_id     text        COLLATE "C",
    payment_mode text        NOT NULL,
    total_amount bigint,
    currency     text,
    -- Digest of the content that was accepted: tells a repeat from a conflict.
    digest       bytea,
    rejection    text,
    expires_at   timestamptz,
    held_since   timestamptz,
    created_at   timestamptz NOT NULL,
    -- The reference leads: it differs at once, the channel hardly ever.
    PRIMARY KEY (order_ref, channel),
    CONSTRAINT sales_order_state CHECK (
        state IN ('held', 'confirmed', 'rejected', 'awaited', 'shipped', 'released', 'expired')
    ),
    CONSTRAINT sales_order_payment_mode CHECK (payment_mode IN ('online', 'prepaid', 'on_delivery')),
    CONSTRAINT sales_order_total CHECK ((total_amount IS NULL) = (currency IS NULL) AND total_amount >= 0),
    CONSTRAINT sales_order_awaited_has_no_event CHECK ((state = 'awaited') = (event_id IS NULL)),
    CONSTRAINT sales_order_held_ends CHECK (state <> 'held' OR expires_at IS NOT NULL)
);

CREATE INDEX sales_order_due ON sales_order (expires_at) WHERE state = 'held';

CREATE SEQUENCE reservation_id_seq;

CREATE TABLE reservation (
    id           bigint      NOT NULL DEFAULT nextval('reservation_id_seq') PRIMARY KEY,
    channel      text        COLLATE "C" NOT NULL,
    order_ref    text        COLLATE "C" NOT NULL,
    sku          text        COLLATE "C" NOT NULL,
    warehouse    text        COLLATE "C" NOT NULL,
    qty          bigint      NOT NULL,
    shipped_qty  bigint      NOT NULL DEFAULT 0,
    returned_qty bigint      NOT NULL DEFAULT 0,
    state        text        NOT NULL,
    -- Whether the order named the warehouse: then no other is ever chosen.
    named        boolean     NOT NULL,
    -- Whether it was cancelled: then it is never had again.
    cancelled    boolean     NOT NULL DEFAULT false,
    expires_at   timestamptz,
    created_at   timestamptz NOT NULL,
    CONSTRAINT reservation_once_per_order UNIQUE (order_ref, channel, sku),
    CONSTRAINT reservation_state CHECK (state IN ('held', 'confirmed', 'released', 'expired', 'shipped')),
    CONSTRAINT reservation_quantities CHECK (
        qty >= 1 AND shipped_qty BETWEEN 0 AND qty AND returned_qty BETWEEN 0 AND shipped_qty
    ),
    CONSTRAINT reservation_held_ends CHECK (state <> 'held' OR expires_at IS NOT NULL)
);

ALTER SEQUENCE reservation_id_seq OWNED BY reservation.id;

-- Which due holds stand on a stock row for want of which somebody would be refused.
CREATE INDEX reservation_due ON reservation (sku, warehouse, expires_at) WHERE state = 'held';

CREATE TABLE reservation_event (
    id             bigint      GENERATED ALWAYS AS IDENTITY,
    reservation_id bigint      NOT NULL,
    sku            text        COLLATE "C" NOT NULL,
    warehouse      text        COLLATE "C" NOT NULL,
    from_state     text,
    to_state       text        NOT NULL,
    -- The signed change of `reserved`.
    qty            bigint      NOT NULL,
    reason         text,
    event_id       text,
    at             timestamptz NOT NULL,
    PRIMARY KEY (reservation_id, id),
    CONSTRAINT reservation_event_states CHECK (
        to_state IN ('held', 'confirmed', 'released', 'expired', 'shipped')
        AND from_state IN ('held', 'confirmed', 'released', 'expired', 'shipped')
    )
);
