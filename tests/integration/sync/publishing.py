"""A producer: publishes an event for each line `RUN ID`, and prints the id when it is confirmed."""

import os
import sys

from sidecypher_procedures.sync.publisher import RunPublisher

if __name__ == "__main__":
    with RunPublisher.connect(os.environ["SIDECYPHER_REDIS_URL"]) as publisher:
        for line in sys.stdin:
            run, event_id = line.split()
            event = {"type": "userMessage", "content": event_id, "id": event_id}
            print(publisher.publish(run, event), flush=True)  # noqa: T201 - what it is for
