-- What marketplaces are told, what they were told, and what they show.
--
-- A point is a SKU of a warehouse as a channel sells it. Its row in `publish_point` is the lock of everything about it: who queues, claims, answers
-- or reads locks that row first, sorted by (sku, channel, warehouse), after stock rows and before reviews.

-- What a channel calls a SKU: Ozon's offer_id, the chrtId of Wildberries.
CREATE TABLE channel_item_map (
    sku         text COLLATE "C" NOT NULL,
    channel     text COLLATE "C" NOT NULL,
    external_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (sku, channel),
    -- In this order, so that who looks for a SKU of a channel never finds its way here.
    CONSTRAINT channel_item_map_external UNIQUE (external_id, channel),
    CONSTRAINT channel_item_map_external_not_empty CHECK (external_id <> '')
);

-- Orders that were refused, by what they are about: as long as one of a channel is open, more may be sold there than is known here.
CREATE INDEX dead_letter_open_by_subject ON dead_letter (subject) WHERE resolved_at IS NULL;

-- What people ask of a channel's publisher, and how it is.
CREATE TABLE publish_channel (
    channel            text        COLLATE "C" PRIMARY KEY,
    -- The channel's own safety stock when its points were last reckoned: another one in the settings retells them.
    safety_stock       bigint      NOT NULL,
    paused_at          timestamptz,
    -- Nothing is sent until then, and why: a key that is not taken, a ban.
    halted_until       timestamptz,
    halted_reason      text,
    -- How often in a row it was halted: the pauses grow.
    halts              integer     NOT NULL DEFAULT 0,
    reconcile_asked_at timestamptz,
    reconciled_at      timestamptz,
    checked_at         timestamptz,
    CONSTRAINT publish_channel_halted CHECK ((halted_until IS NULL) = (halted_reason IS NULL))
);

CREATE TABLE publish_point (
    sku                        text        COLLATE "C" NOT NULL,
    channel                    text        COLLATE "C" NOT NULL,
    warehouse                  text        COLLATE "C" NOT NULL,
    -- What the channel calls it now. None once the channel no longer sells it.
    external_id                text        COLLATE "C",
    external_warehouse_id      text        COLLATE "C",
    -- The newest figures: those that should be shown.
    newest_version             bigint      NOT NULL,
    available                  bigint      NOT NULL,
    desired_qty                bigint      NOT NULL,
    -- What was sent last, when, and whereto. None when nothing was, or when it was withdrawn (0 told to an address that is no more).
    told_version               bigint,
    told_qty                   bigint,
    told_at                    timestamptz,
    told_external_id           text        COLLATE "C",
    told_external_warehouse_id text        COLLATE "C",
    -- The channel takes nothing of it before.
    free_at                    timestamptz,
    -- How often something was sent. A read that meets another number than it began with was overlapped.
    flights                    bigint      NOT NULL DEFAULT 0,
    -- Who is sending now, and until when that is believed.
    lease                      uuid,
    lease_until                timestamptz,
    -- When the newest figures go out; none when there is nothing to send.
    due_at                     timestamptz,
    -- When the channel is to be read, out of the schedule; none when there is nothing to see.
    look_at                    timestamptz,
    -- How often in a row it was deferred or unknown, and how often healed, since it was last seen right.
    failures                   integer     NOT NULL DEFAULT 0,
    heals                      integer     NOT NULL DEFAULT 0,
    -- How often ever the same version was told again because something else was shown, or because a person said so.
    repeats                    bigint      NOT NULL DEFAULT 0,
    -- Since when the channel has been seen to show less than it should, with nothing on its way.
    low_since                  timestamptz,
    -- The largest call it may be part of, while the culprit of a refused call is looked for.
    call_max                   integer,
    -- Why a person must look before it is sent again; and whether newer figures wait too, because the channel refuses the item itself.
    parked                     text,
    refused                    boolean     NOT NULL DEFAULT false,
    -- What the channel shows, as far as is known; what of that is not free, and since when.
    shown_qty                  bigint,
    exposed_units              bigint      NOT NULL DEFAULT 0,
    exposed_since              timestamptz,
    PRIMARY KEY (sku, channel, warehouse),
    CONSTRAINT publish_point_address CHECK ((external_id IS NULL) = (external_warehouse_id IS NULL)),
    CONSTRAINT publish_point_told CHECK (num_nulls(told_version, told_qty, told_at, told_external_id, told_external_warehouse_id) IN (0, 5)),
    CONSTRAINT publish_point_told_is_newest_or_older CHECK (told_version <= newest_version),
    CONSTRAINT publish_point_lease CHECK ((lease IS NULL) = (lease_until IS NULL)),
    CONSTRAINT publish_point_figures CHECK (desired_qty >= 0 AND told_qty >= 0),
    CONSTRAINT publish_point_parked_is_not_due CHECK (parked IS NULL OR due_at IS NULL),
    CONSTRAINT publish_point_refused_is_parked CHECK (parked IS NOT NULL OR NOT refused),
    CONSTRAINT publish_point_exposed CHECK ((exposed_units > 0) = (exposed_since IS NOT NULL))
) WITH (fillfactor = 50);

-- Zeros first, then who has waited longest.
CREATE INDEX publish_point_due ON publish_point (channel, (desired_qty > 0), due_at) WHERE due_at IS NOT NULL AND lease IS NULL;
CREATE INDEX publish_point_look ON publish_point (channel, look_at) WHERE look_at IS NOT NULL;
CREATE INDEX publish_point_flying ON publish_point (channel, lease_until) WHERE lease IS NOT NULL;
CREATE INDEX publish_point_exposed ON publish_point (channel, exposed_since) WHERE exposed_units > 0;
CREATE INDEX publish_point_parked ON publish_point (channel) WHERE parked IS NOT NULL;
-- A stock row's points; whose an address is; what a channel was told, address by address.
CREATE INDEX publish_point_row ON publish_point (warehouse, sku);
CREATE INDEX publish_point_address ON publish_point (external_id, external_warehouse_id, channel);
CREATE INDEX publish_point_told ON publish_point (channel, told_external_warehouse_id, told_external_id) WHERE told_version IS NOT NULL;
-- Those that still have to withdraw from an address.
CREATE INDEX publish_point_left ON publish_point (channel, told_external_warehouse_id, told_external_id)
    WHERE external_id IS DISTINCT FROM told_external_id OR external_warehouse_id IS DISTINCT FROM told_external_warehouse_id;

-- Every version that was to be told and became the newest, or came after a newer one.
CREATE TABLE stock_push (
    id          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sku         text        COLLATE "C" NOT NULL,
    channel     text        COLLATE "C" NOT NULL,
    warehouse   text        COLLATE "C" NOT NULL,
    version     bigint      NOT NULL,
    desired_qty bigint      NOT NULL,
    state       text        NOT NULL,
    attempts    integer     NOT NULL DEFAULT 0,
    last_error  text,
    created_at  timestamptz NOT NULL,
    CONSTRAINT stock_push_version UNIQUE (sku, channel, warehouse, version),
    CONSTRAINT stock_push_state CHECK (state IN ('pending', 'sending', 'accepted', 'superseded', 'unknown', 'needs_review')),
    CONSTRAINT stock_push_figures CHECK (desired_qty >= 0 AND attempts >= 0)
);

-- The one that a point waits for, flies with, or has given to a person.
CREATE INDEX stock_push_open ON stock_push (sku, channel, warehouse) WHERE state IN ('pending', 'sending', 'unknown', 'needs_review');
-- What was never sent and never will be.
CREATE INDEX stock_push_unsent ON stock_push (sku, channel, warehouse) WHERE state = 'superseded' AND attempts = 0;
-- What is old goes (retention).
CREATE INDEX stock_push_old ON stock_push (created_at);

-- What was last seen to be shown, or is taken for shown where a channel cannot be read.
CREATE TABLE stock_confirmed (
    sku               text        COLLATE "C" NOT NULL,
    channel           text        COLLATE "C" NOT NULL,
    warehouse         text        COLLATE "C" NOT NULL,
    confirmed_version bigint      NOT NULL,
    confirmed_qty     bigint      NOT NULL,
    confirmed_at      timestamptz NOT NULL,
    PRIMARY KEY (sku, channel, warehouse)
) WITH (fillfactor = 50);

-- Attempts and observations are kept in generations, as the inbox is, and forgotten by TRUNCATE.
ALTER TABLE generation DROP CONSTRAINT generation_kept;
ALTER TABLE generation ADD CONSTRAINT generation_kept CHECK (kept IN ('inbox', 'outbox', 'attempts', 'observations'));

INSERT INTO generation (kept, number, current, opened_at)
SELECT kept, number, number = 0, CASE WHEN number = 0 THEN clock_timestamp() END
FROM unnest(ARRAY['attempts', 'observations']) AS kept, generate_series(0, 3) AS number;

-- Each time that something was sent. One without an end was cut off: nobody knows what became of it.
CREATE SEQUENCE push_attempt_id CACHE 1;
CREATE TABLE push_attempt (
    id                    bigint      NOT NULL DEFAULT nextval('push_attempt_id'),
    sku                   text        COLLATE "C" NOT NULL,
    channel               text        COLLATE "C" NOT NULL,
    warehouse             text        COLLATE "C" NOT NULL,
    version               bigint      NOT NULL,
    external_id           text        COLLATE "C" NOT NULL,
    external_warehouse_id text        COLLATE "C" NOT NULL,
    qty                   bigint      NOT NULL,
    -- 0 told to an address that the channel no longer has for the point.
    withdrawal            boolean     NOT NULL,
    -- The point's flight, and whose.
    flight                bigint      NOT NULL,
    lease                 uuid        NOT NULL,
    began_at              timestamptz NOT NULL,
    ended_at              timestamptz,
    outcome               text,
    detail                text,
    generation            smallint    NOT NULL,
    CONSTRAINT push_attempt_ended CHECK ((ended_at IS NULL) = (outcome IS NULL)),
    CONSTRAINT push_attempt_outcome
        CHECK (outcome IN ('accepted', 'again', 'deferred', 'rejected', 'unknown', 'split', 'halted'))
) PARTITION BY LIST (generation);

CREATE TABLE push_attempt_0 PARTITION OF push_attempt (PRIMARY KEY (id)) FOR VALUES IN (0);
CREATE TABLE push_attempt_1 PARTITION OF push_attempt (PRIMARY KEY (id)) FOR VALUES IN (1);
CREATE TABLE push_attempt_2 PARTITION OF push_attempt (PRIMARY KEY (id)) FOR VALUES IN (2);
CREATE TABLE push_attempt_3 PARTITION OF push_attempt (PRIMARY KEY (id)) FOR VALUES IN (3);
CREATE INDEX push_attempt_point ON push_attempt (sku, channel, warehouse, flight);

-- Each time that a point was looked at. `compared_version` is what it was held against: what had been told last when the reading began.
CREATE SEQUENCE stock_observation_id CACHE 1;
CREATE TABLE stock_observation (
    id               bigint      NOT NULL DEFAULT nextval('stock_observation_id'),
    sku              text        COLLATE "C" NOT NULL,
    channel          text        COLLATE "C" NOT NULL,
    warehouse        text        COLLATE "C" NOT NULL,
    -- None where the channel does not list it.
    observed_qty     bigint,
    desired_qty      bigint,
    compared_version bigint,
    verdict          text        NOT NULL,
    at               timestamptz NOT NULL,
    generation       smallint    NOT NULL,
    CONSTRAINT stock_observation_verdict CHECK (verdict IN ('in_sync', 'lagging', 'drift', 'absent'))
) PARTITION BY LIST (generation);

CREATE TABLE stock_observation_0 PARTITION OF stock_observation (PRIMARY KEY (id)) FOR VALUES IN (0);
CREATE TABLE stock_observation_1 PARTITION OF stock_observation (PRIMARY KEY (id)) FOR VALUES IN (1);
CREATE TABLE stock_observation_2 PARTITION OF stock_observation (PRIMARY KEY (id)) FOR VALUES IN (2);
CREATE TABLE stock_observation_3 PARTITION OF stock_observation (PRIMARY KEY (id)) FOR VALUES IN (3);
CREATE INDEX stock_observation_point ON stock_observation (sku, channel, warehouse, id);
