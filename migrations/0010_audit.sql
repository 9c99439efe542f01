-- When the audit ran, so that several copies and restarts keep one schedule between them. A row an hour; a person may read them.

CREATE TABLE audit_run (
    id        bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    began_at  timestamptz NOT NULL,
    ended_at  timestamptz NOT NULL,
    -- How much was found, by invariant: the first is that of invariant 1.
    findings  bigint[]    NOT NULL,
    -- Why the broker was not asked, if it was not.
    unchecked text
);
