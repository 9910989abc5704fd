#!/usr/bin/env python3
"""Tell Docker whether the sidecar is ready: exit code 0 when `/readyz` says yes."""

import http.client
import os
import sys

# No proxy of the environment reaches what listens on loopback only, so no `urllib`.
connection = http.client.HTTPConnection("127.0.0.1", int(os.environ["SIDECYPHER_HTTP_PORT"]), 2)
try:
    connection.request("GET", "/readyz?verbose")
    answer = connection.getresponse()
    print(answer.read().decode())  # noqa: T201 - `docker inspect` shows it
except (OSError, http.client.HTTPException) as error:
    sys.exit(f"the sidecar does not answer: {error}")
sys.exit(answer.status != http.client.OK)
