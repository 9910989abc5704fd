"""A mock of GitHub with one recorded issue under every number, a set latency and counters.

It is a separate process, so that it does not slow down the measured ones;
`python -m benchmarks.github` starts it.
"""

import argparse
import asyncio
import re
import socket
import sys
from pathlib import Path
from typing import Any, Final

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from tests.recorded import Recordings

RECORDED: Final = "/repos/Codertocat/Hello-World/issues/1"
_REPOSITORY: Final = re.compile(r"(r\d+): repository\(.*?\) \{(.*)\}")
_ISSUE: Final = re.compile(r"(k\d+): issueOrPullRequest\(number: \$(number\d+)\)")


class Origin:
    """Answers both APIs of GitHub.

    Attributes:
        latency: Seconds before each answer.
        counts: Requests by API since the last reset.
    """

    def __init__(self, recorded: dict[str, Any]) -> None:
        self._rest = recorded
        self._graphql = _as_graphql(recorded)
        self.latency = 0.0
        self.counts = {"rest": 0, "graphql": 0}

    async def issue(self, request: Request) -> Response:
        """Return an issue in the format of the REST API."""
        self.counts["rest"] += 1
        await asyncio.sleep(self.latency)
        number = request.path_params["number"]
        own = {"id": number, "node_id": f"I_{number}", "number": number, "html_url": _page(number)}
        return _json({**self._rest, **own}, {"ETag": f'W/"{number}"'})

    async def graphql(self, request: Request) -> Response:
        """Return the issues of a query in the format of the GraphQL API."""
        self.counts["graphql"] += 1
        asked = msgspec.json.decode(await request.body())
        await asyncio.sleep(self.latency)
        data = {
            repository: {key: self._node(asked["variables"][name]) for key, name in issues}
            for repository, issues in _asked_for(asked["query"])
        }
        return _json({"data": data})

    async def reset(self, request: Request) -> Response:
        """Set the latency; return and reset the counts."""
        self.latency = float(request.query_params["latency"])
        counts, self.counts = self.counts, {"rest": 0, "graphql": 0}
        return _json(counts)

    def _node(self, number: int) -> dict[str, Any]:
        own = {"id": f"I_{number}", "fullDatabaseId": str(number), "number": number}
        return {**self._graphql, **own, "url": _page(number)}


def _asked_for(query: str) -> list[tuple[str, list[tuple[str, str]]]]:
    return [(alias, _ISSUE.findall(inner)) for alias, inner in _REPOSITORY.findall(query)]


def _as_graphql(issue: dict[str, Any]) -> dict[str, Any]:
    return {
        "__typename": "Issue",
        "title": issue["title"],
        "body": issue["body"],
        "state": issue["state"].upper(),
        "stateReason": None,
        "locked": issue["locked"],
        "createdAt": issue["created_at"],
        "updatedAt": issue["updated_at"],
        "closedAt": issue["closed_at"],
        "author": {"__typename": "User", "login": issue["user"]["login"]},
        "labels": {"nodes": [{"name": label["name"]} for label in issue["labels"]]},
        "assignees": {"nodes": []},
        "milestone": None,
        "comments": {"totalCount": issue["comments"]},
    }


def _page(number: int) -> str:
    return f"https://github.com/Codertocat/Hello-World/issues/{number}"


def _json(body: object, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(body), headers=headers, media_type="application/json")


def main() -> None:
    """Serve until the process is ended; the first line printed is the port."""
    parser = argparse.ArgumentParser(prog="benchmarks.github_origin", description=main.__doc__)
    parser.add_argument("recordings", type=Path, help="folder with the npm packages")
    recorded = Recordings.load(parser.parse_args().recordings).get(RECORDED)
    origin = Origin(dict(recorded or {}))
    app = Starlette(
        routes=[
            Route("/repos/{owner}/{repo}/issues/{number:int}", origin.issue),
            Route("/graphql", origin.graphql, methods=["POST"]),
            Route("/reset", origin.reset),
        ]
    )
    # Without the protocol asyncio leaves Nagle's algorithm on, which adds 40 ms.
    listener = socket.socket(proto=socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", access_log=False))
    server.run(sockets=[listener])


if __name__ == "__main__":
    main()
