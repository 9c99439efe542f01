-- Stock: two counters a row, and every change of what lies on a shelf.
--
-- The constraints are the last word on overselling: whatever the program decides, `reserved` never passes `on_hand`. The hottest rows are
-- updated once a batch, in place: half of each page stays free for that, and no index names a counter.

CREATE TABLE stock (
    sku        text        COLLATE "C" NOT NULL,
    warehouse  text        COLLATE "C" NOT NULL,
    on_hand    bigint      NOT NULL,
    reserved   bigint      NOT NULL DEFAULT 0,
    version    bigint      NOT NULL DEFAULT 0,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (sku, warehouse),
    CONSTRAINT stock_on_hand_not_negative CHECK (on_hand >= 0),
    CONSTRAINT stock_reserved_not_negative CHECK (reserved >= 0),
    CONSTRAINT stock_reserved_within_on_hand CHECK (reserved <= on_hand)
) WITH (fillfactor = 50);

-- Whether a warehouse is known is asked by warehouse alone.
CREATE INDEX stock_by_warehouse ON stock (warehouse);

CREATE TABLE stock_movement (
    id        bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sku       text        COLLATE "C" NOT NULL,
    warehouse text        COLLATE "C" NOT NULL,
    delta     bigint      NOT NULL,
    kind      text        NOT NULL,
    event_id  text,
    at        timestamptz NOT NULL,
    CONSTRAINT stock_movement_moves CHECK (delta <> 0),
    CONSTRAINT stock_movement_kind CHECK (
        kind IN ('received', 'written_off', 'counted', 'transferred', 'shipped', 'returned', 'opening')
    )
);

CREATE INDEX stock_movement_by_row ON stock_movement (sku, warehouse, id);
