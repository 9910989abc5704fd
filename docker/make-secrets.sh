#!/bin/sh
# Creates the folder `secrets` with passwords for Neo4j and PostgreSQL, unless it has them.
set -eu
cd "$(dirname "$0")"
# Only you can open the folder. All users can read the files in it, since the containers run as
# other users.
mkdir -p secrets
chmod 0700 secrets
umask 022
for name in neo4j-password postgres-password; do
    [ -s "secrets/$name" ] || od -An -N16 -tx1 /dev/urandom | tr -d ' \n' > "secrets/$name"
done
printf 'neo4j/%s' "$(cat secrets/neo4j-password)" > secrets/neo4j-auth
