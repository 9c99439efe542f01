-- The inbox in generations, so that what is old goes at once, without dead rows, whatever snapshot somebody holds open.
--
-- New events go into the current generation. A rotation empties the oldest one (TRUNCATE: no DDL, so that the program's role need own
-- nothing) and makes it the current one. Each generation is unique by itself; over all of them an event counts once because whoever claims
-- looks into the others too, and no rotation happens between that look and the commit (`src/store/generations.rs`).

-- Which generation is the current one, and when each began and ended. One that never was current has no times.
CREATE TABLE generation (
    kept      text        COLLATE "C" NOT NULL,
    number    smallint    NOT NULL,
    current   boolean     NOT NULL DEFAULT false,
    opened_at timestamptz,
    closed_at timestamptz,
    PRIMARY KEY (kept, number),
    CONSTRAINT generation_kept CHECK (kept IN ('inbox', 'outbox')),
    CONSTRAINT generation_number CHECK (number BETWEEN 0 AND 3),
    CONSTRAINT generation_current_is_open CHECK (NOT current OR (opened_at IS NOT NULL AND closed_at IS NULL)),
    CONSTRAINT generation_ends CHECK (current OR (opened_at IS NULL) = (closed_at IS NULL))
);

CREATE UNIQUE INDEX generation_one_current ON generation (kept) WHERE current;

INSERT INTO generation (kept, number, current, opened_at)
SELECT 'inbox', number, number = 0, CASE WHEN number = 0 THEN clock_timestamp() END FROM generate_series(0, 3) AS number;

-- What is there is the first generation. A copy of the program from before knows of no generations and writes there too; until the first
-- rotation, days later, that is the current one.
ALTER TABLE processed_event RENAME TO processed_event_0;
ALTER TABLE processed_event_0 RENAME CONSTRAINT processed_event_pkey TO processed_event_0_pkey;
ALTER TABLE processed_event_0 ADD COLUMN generation smallint NOT NULL DEFAULT 0;

CREATE TABLE processed_event (
    subject    text        COLLATE "C" NOT NULL,
    event_id   text        COLLATE "C" NOT NULL,
    at         timestamptz NOT NULL,
    generation smallint    NOT NULL DEFAULT 0
) PARTITION BY LIST (generation);

ALTER TABLE processed_event ATTACH PARTITION processed_event_0 FOR VALUES IN (0);
CREATE TABLE processed_event_1 PARTITION OF processed_event (PRIMARY KEY (subject, event_id)) FOR VALUES IN (1);
CREATE TABLE processed_event_2 PARTITION OF processed_event (PRIMARY KEY (subject, event_id)) FOR VALUES IN (2);
CREATE TABLE processed_event_3 PARTITION OF processed_event (PRIMARY KEY (subject, event_id)) FOR VALUES IN (3);
