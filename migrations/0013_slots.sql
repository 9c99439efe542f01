-- Slots: things that are promised for a time, such as fitting rooms, and who has which period.
--
-- The constraint is the last word on double booking: whatever the program decides, no two held or confirmed periods of a resource overlap.
-- Periods are half-open, so that one may begin where another ends. The row of a resource is what a transaction locks to read its periods and
-- take one. btree_gist, which compares the resource beside the period, is part of PostgreSQL's own contrib modules and trusted: the owner of
-- the tables may make it.

CREATE EXTENSION IF NOT EXISTS btree_gist;

CREATE TABLE slot_resource (
    resource text COLLATE "C" PRIMARY KEY,
    -- What people call it, if it is called otherwise.
    name     text
);

CREATE SEQUENCE slot_hold_id_seq;

CREATE TABLE slot_hold (
    id         bigint      NOT NULL DEFAULT nextval('slot_hold_id_seq') PRIMARY KEY,
    channel    text        COLLATE "C" NOT NULL,
    order_ref  text        COLLATE "C" NOT NULL,
    resource   text        COLLATE "C" NOT NULL REFERENCES slot_resource,
    during     tstzrange   NOT NULL,
    state      text        NOT NULL,
    -- Whether it was cancelled: then it is never had again.
    cancelled  boolean     NOT NULL DEFAULT false,
    expires_at timestamptz,
    created_at timestamptz NOT NULL,
    CONSTRAINT slot_hold_once_per_order UNIQUE (order_ref, channel, resource, during),
    CONSTRAINT slot_hold_state CHECK (state IN ('held', 'confirmed', 'released', 'expired')),
    CONSTRAINT slot_hold_period CHECK (
        NOT isempty(during) AND lower_inc(during) AND NOT upper_inc(during) AND NOT lower_inf(during) AND NOT upper_inf(during)
    ),
    CONSTRAINT slot_hold_held_ends CHECK (state <> 'held' OR expires_at IS NOT NULL),
    CONSTRAINT slot_hold_apart EXCLUDE USING gist (resource WITH =, during WITH &&) WHERE (state IN ('held', 'confirmed'))
);

ALTER SEQUENCE slot_hold_id_seq OWNED BY slot_hold.id;

-- The journal: every step of a slot, as `reservation_event` has those of lines.
CREATE TABLE slot_event (
    id           bigint      GENERATED ALWAYS AS IDENTITY,
    slot_hold_id bigint      NOT NULL,
    resource     text        COLLATE "C" NOT NULL,
    during       tstzrange   NOT NULL,
    from_state   text,
    to_state     text        NOT NULL,
    reason       text,
    event_id     text,
    at           timestamptz NOT NULL,
    PRIMARY KEY (slot_hold_id, id),
    CONSTRAINT slot_event_states CHECK (
        to_state IN ('held', 'confirmed', 'released', 'expired')
        AND from_state IN ('held', 'confirmed', 'released', 'expired')
    )
);
