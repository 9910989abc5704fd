#!/bin/bash
# Understands of PostgreSQL's own image what docker/compose.yml uses: the password from a file.
set -euo pipefail
data=/var/lib/postgresql/data
bin=$(echo /usr/lib/postgresql/*/bin)
[ -s "$data/PG_VERSION" ] || "$bin/initdb" --pgdata="$data" --username=postgres --encoding=UTF8 \
    --locale=C.UTF-8 --pwfile="$POSTGRES_PASSWORD_FILE" --auth-local=trust --auth-host=scram-sha-256
exec "$bin/postgres" -D "$data"
