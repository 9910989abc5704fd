#!/usr/bin/env python3
"""Health check for Docker: exit code 0 if `/readyz` reports that the sidecar is ready."""

import http.client
import os
import sys

# `urllib` would use a proxy from the environment, which cannot reach the loopback address.
connection = http.client.HTTPConnection("127.0.0.1", int(os.environ["SIDECYPHER_HTTP_PORT"]), 2)
try:
    connection.request("GET", "/readyz?verbose")
    answer = connection.getresponse()
    print(answer.read().decode())  # noqa: T201 - `docker inspect` shows it
except (OSError, http.client.HTTPException) as error:
    sys.exit(f"the sidecar does not answer: {error}")
sys.exit(answer.status != http.client.OK)
