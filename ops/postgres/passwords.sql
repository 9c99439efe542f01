-- Run by the container's first start, after roles.sql: passwords out of secret files, never as arguments.
\set owner `cat /run/secrets/postgres_owner_password`
\set runtime `cat /run/secrets/postgres_runtime_password`
ALTER ROLE lastunit_owner PASSWORD :'owner';
ALTER ROLE lastunit_runtime PASSWORD :'runtime';
