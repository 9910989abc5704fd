#!/bin/sh
# Creates the folder `secrets` with a password for Neo4j, unless it has one.
set -eu
cd "$(dirname "$0")"
# Only you can open the folder. All users can read the files in it, since the containers run as
# other users.
mkdir -p secrets
chmod 0700 secrets
umask 022
[ -s secrets/neo4j-password ] || od -An -N16 -tx1 /dev/urandom | tr -d ' \n' > secrets/neo4j-password
printf 'neo4j/%s' "$(cat secrets/neo4j-password)" > secrets/neo4j-auth
