"""Messages that threads read at once, before any of their kind was read."""

import subprocess
import sys

READ_AT_ONCE = """
import importlib, sys, threading
from sidecypher.protocol import envelope

sys.setswitchinterval(1e-6)
for _ in range(300):
    # A new module has new types, which nothing has read yet.
    importlib.reload(envelope)
    fields = dict(id="1", name="a.b", database="neo4j", user="u", signature="s", args=[[1]])
    sent = envelope.write(envelope.CallRequest(**fields, remaining_ms=1, mode="READ"))
    at_once = threading.Barrier(8)

    def read():
        at_once.wait()
        envelope.read(sent, envelope.CallRequest)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
"""


def test_threads_may_read_the_first_messages_at_once():
    """The first calls of a sidecar come at the same time: none of them ends its process."""
    done = subprocess.run([sys.executable, "-c", READ_AT_ONCE], check=False)

    assert done.returncode == 0
