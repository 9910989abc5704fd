#!/bin/sh
# Makes the folder `secrets` with a password for Neo4j, unless there is one.
set -eu
cd "$(dirname "$0")"
# Only you may look into the folder. The files in it are open to all, since the users inside of the
# containers are others than you.
mkdir -p secrets
chmod 0700 secrets
umask 022
[ -s secrets/neo4j-password ] || od -An -N16 -tx1 /dev/urandom | tr -d ' \n' > secrets/neo4j-password
printf 'neo4j/%s' "$(cat secrets/neo4j-password)" > secrets/neo4j-auth
