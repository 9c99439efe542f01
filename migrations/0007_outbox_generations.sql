-- The outbox in generations, as the inbox; and what it takes to know that nobody needs a generation or a dead letter any more.
--
-- In which generation a row stands decides nothing: a generation is emptied only when all its rows were told, the last long enough ago, and
-- that is seen under the lock that keeps everybody else out of it.

INSERT INTO generation (kept, number, current, opened_at)
SELECT 'outbox', number, number = 0, CASE WHEN number = 0 THEN clock_timestamp() END FROM generate_series(0, 3) AS number;

-- An identity cannot be handed on to another table. The numbers go on where they were.
CREATE SEQUENCE outbox_number;
SELECT setval('outbox_number', nextval('outbox_id_seq'));

ALTER TABLE outbox RENAME TO outbox_0;
ALTER TABLE outbox_0 RENAME CONSTRAINT outbox_pkey TO outbox_0_pkey;
ALTER INDEX outbox_unsent RENAME TO outbox_0_unsent;
ALTER TABLE outbox_0 ALTER COLUMN id DROP IDENTITY;
ALTER TABLE outbox_0 ADD COLUMN generation smallint NOT NULL DEFAULT 0;

CREATE TABLE outbox (
    id         bigint      NOT NULL DEFAULT nextval('outbox_number'),
    stream     text        NOT NULL,
    entries    bytea       NOT NULL,
    written_at timestamptz NOT NULL,
    sent_at    timestamptz,
    generation smallint    NOT NULL DEFAULT 0
) PARTITION BY LIST (generation);

ALTER TABLE outbox ALTER COLUMN entries SET STORAGE EXTERNAL;
ALTER SEQUENCE outbox_number OWNED BY outbox.id;

ALTER TABLE outbox ATTACH PARTITION outbox_0 FOR VALUES IN (0);
CREATE TABLE outbox_1 PARTITION OF outbox (PRIMARY KEY (id)) FOR VALUES IN (1);
CREATE TABLE outbox_2 PARTITION OF outbox (PRIMARY KEY (id)) FOR VALUES IN (2);
CREATE TABLE outbox_3 PARTITION OF outbox (PRIMARY KEY (id)) FOR VALUES IN (3);

CREATE INDEX outbox_unsent ON outbox (stream, id) WHERE sent_at IS NULL;
-- When what was told was told: a generation's last, and what a broker that lost its disk lost with it.
CREATE INDEX outbox_sent ON outbox (sent_at) WHERE sent_at IS NOT NULL;
-- Since when the outbox tells of dead letters: their bodies stand in `dead_letter`.
CREATE INDEX outbox_dead ON outbox (written_at) WHERE stream = 'DEAD';

CREATE INDEX dead_letter_resolved ON dead_letter (resolved_at) WHERE resolved_at IS NOT NULL;
