-- Three roles: the owner migrates, the runtime runs, the reader looks. To be run in lastunit's database by a superuser, before the first
-- migration or after; again at any time:
--     psql --set ON_ERROR_STOP=1 --dbname lastunit --file ops/postgres/roles.sql
-- For another `database.schema` than `public` replace that word. Passwords are set beside this (`\password lastunit_runtime`).
--
--     lastunit_owner     lastunit migrate
--     lastunit_runtime   lastunit run with database.migrate = false, and every other command
--     lastunit_reader    people and reports
--
-- Tables that another role has migrated before are handed over with: REASSIGN OWNED BY that_role TO lastunit_owner.

DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['lastunit_owner', 'lastunit_runtime', 'lastunit_reader'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
            EXECUTE format('CREATE ROLE %I LOGIN', role);
        END IF;
    END LOOP;
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
    -- CREATE is for a schema of its own, and for extensions that a migration may want.
    EXECUTE format('GRANT CONNECT, CREATE ON DATABASE %I TO lastunit_owner', current_database());
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO lastunit_runtime, lastunit_reader', current_database());
END
$$;

REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE, CREATE ON SCHEMA public TO lastunit_owner;
GRANT USAGE ON SCHEMA public TO lastunit_runtime, lastunit_reader;

-- By schema, so that no list of tables falls behind the migrations. TRUNCATE empties partitions whose time is over.
GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON ALL TABLES IN SCHEMA public TO lastunit_runtime;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO lastunit_runtime;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO lastunit_reader;

-- What later migrations make.
ALTER DEFAULT PRIVILEGES FOR ROLE lastunit_owner IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON TABLES TO lastunit_runtime;
ALTER DEFAULT PRIVILEGES FOR ROLE lastunit_owner IN SCHEMA public
    GRANT USAGE, SELECT ON SEQUENCES TO lastunit_runtime;
ALTER DEFAULT PRIVILEGES FOR ROLE lastunit_owner IN SCHEMA public
    GRANT SELECT ON TABLES TO lastunit_reader;

-- Whose old snapshot keeps dead rows alive is seen only by who may read everybody's activity.
GRANT pg_read_all_stats TO lastunit_runtime;

-- A slip of the keyboard is refused before any privilege is asked; and a long look must not keep dead rows for ever.
ALTER ROLE lastunit_reader SET default_transaction_read_only = on;
ALTER ROLE lastunit_reader SET statement_timeout = '10min';
ALTER ROLE lastunit_reader SET idle_in_transaction_session_timeout = '1min';
