#!/bin/bash
# Understands of Neo4j's own image what docker/compose.yml uses: settings as variables, the first
# password from a file, and being run as a user other than root.
set -euo pipefail

conf=$NEO4J_HOME/conf
{
    echo server.default_listen_address=0.0.0.0
    echo server.directories.data=/data
    echo server.directories.logs=/logs
} > "$conf/neo4j.conf"

while IFS= read -r variable; do
    name=${variable#NEO4J_}
    name=${name//__/%}
    name=${name//_/.}
    name=${name//%/_}
    file=neo4j
    [[ $name == apoc.* ]] && file=apoc
    echo "$name=${!variable}" >> "$conf/$file.conf"
done < <(compgen -e NEO4J_ | grep -v -E '^NEO4J_(HOME|EDITION|AUTH_PATH|ACCEPT_LICENSE_AGREEMENT)$')

java=(java -cp "$NEO4J_HOME/plugins/*:$conf:$NEO4J_HOME/lib/*")
if [ -n "${NEO4J_AUTH_PATH:-}" ] && [ ! -e /data/dbms/auth.ini ]; then
    auth=$(< "$NEO4J_AUTH_PATH")
    "${java[@]}" -Dbasedir="$NEO4J_HOME" org.neo4j.cli.AdminTool \
        dbms set-initial-password "${auth#neo4j/}"
fi

exec "${java[@]:0:1}" \
    -Xms"${NEO4J_server_memory_heap_initial__size:-512m}" \
    -Xmx"${NEO4J_server_memory_heap_max__size:-512m}" \
    -XX:+UseG1GC --enable-native-access=ALL-UNNAMED \
    --add-opens=java.base/java.nio=ALL-UNNAMED --add-opens=java.base/java.io=ALL-UNNAMED \
    --add-opens=java.base/sun.nio.ch=ALL-UNNAMED \
    -Dio.netty.tryReflectionSetAccessible=true -Dlog4j2.disable.jmx=true -Dfile.encoding=UTF-8 \
    "${java[@]:1}" org.neo4j.server.CommunityEntryPoint \
    --home-dir="$NEO4J_HOME" --config-dir="$conf" --console-mode
