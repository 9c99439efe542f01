-- From which warehouses a channel is served, and what a marketplace calls them.

CREATE TABLE channel_warehouse_map (
    warehouse             text    COLLATE "C" NOT NULL,
    channel               text    COLLATE "C" NOT NULL,
    -- None where the channel is not a marketplace.
    external_warehouse_id text    COLLATE "C",
    -- The lowest is tried first.
    priority              integer NOT NULL DEFAULT 0,
    -- None where the channel's own setting holds.
    safety_stock          bigint,
    PRIMARY KEY (warehouse, channel),
    CONSTRAINT channel_warehouse_map_external UNIQUE (channel, external_warehouse_id),
    CONSTRAINT channel_warehouse_map_external_not_empty CHECK (external_warehouse_id <> ''),
    CONSTRAINT channel_warehouse_map_safety_stock CHECK (safety_stock >= 0)
);
