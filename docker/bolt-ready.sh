#!/bin/bash
# Health check for Docker: exit code 0 if Neo4j answers over Bolt and agrees on a version.
# cypher-shell would start a JVM each time.
set -euo pipefail
exec 3<> /dev/tcp/127.0.0.1/7687
# Bolt's magic number, then the accepted versions: 5.4 down to 5.0.
printf '\x60\x60\xb0\x17\x00\x04\x04\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00' >&3
version=$(timeout 2 head --bytes=4 <&3 | od --address-radix=n --format=x1)
[ "$version" != " 00 00 00 00" ] && [ -n "$version" ]
