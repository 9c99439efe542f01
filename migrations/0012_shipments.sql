-- What left shelves for orders, and what came back.
--
-- A shipment is known by its warehouse, its order and its name there, so that the same parcel told twice under two event ids leaves once. The
-- lines are a journal of their own: which units of a reservation left which shelf, and which came back to where. A return moves no state and
-- may, of damaged units, move no figure either; and units may leave another warehouse than the one where they are reserved. No foreign keys,
-- as on the other journals: the audit is their guard.

CREATE TABLE shipment (
    channel      text        COLLATE "C" NOT NULL,
    order_ref    text        COLLATE "C" NOT NULL,
    shipment_ref text        COLLATE "C" NOT NULL,
    warehouse    text        COLLATE "C" NOT NULL,
    -- Digest of its lines: tells a repeat from a conflict.
    digest       bytea       NOT NULL,
    event_id     text        NOT NULL,
    at           timestamptz NOT NULL,
    -- The order's reference leads: it differs at once.
    PRIMARY KEY (order_ref, channel, shipment_ref, warehouse)
);

CREATE TABLE parcel_line (
    id             bigint      GENERATED ALWAYS AS IDENTITY,
    reservation_id bigint      NOT NULL,
    sku            text        COLLATE "C" NOT NULL,
    -- Which shelf the units left, or where they came back to.
    warehouse      text        COLLATE "C" NOT NULL,
    -- shipped: left a shelf. returned: back on a shelf. damaged: came back, and lie on none.
    kind           text        NOT NULL,
    qty            bigint      NOT NULL,
    event_id       text        NOT NULL,
    at             timestamptz NOT NULL,
    PRIMARY KEY (reservation_id, id),
    CONSTRAINT parcel_line_kind CHECK (kind IN ('shipped', 'returned', 'damaged')),
    CONSTRAINT parcel_line_qty CHECK (qty >= 1)
);
