"""`/livez`, `/readyz` and `/metrics`.

Kubernetes' words: *live* means the process answers; *ready* means it can serve calls.
"""

from collections.abc import Callable, Mapping

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

Check = Callable[[], str | None]
"""Returns None, or one line that names the problem; it must not block."""


def health_routes(checks: Mapping[str, Check], metrics: CollectorRegistry) -> list[Route]:
    """Return the routes."""

    async def live(_request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def ready(request: Request) -> Response:
        found = {name: check() for name, check in checks.items()}
        failed = [name for name, wrong in found.items() if wrong is not None]
        if "verbose" in request.query_params:
            lines = [
                f"[+]{name} ok" if wrong is None else f"[-]{name} failed: {wrong}"
                for name, wrong in found.items()
            ]
        else:
            lines = []
        lines.append("not ready" if failed else "ok")
        return PlainTextResponse("\n".join(lines) + "\n", 503 if failed else 200)

    async def show_metrics(_request: Request) -> Response:
        return Response(generate_latest(metrics), media_type=CONTENT_TYPE_LATEST)

    return [
        Route("/livez", live),
        Route("/readyz", ready),
        Route("/metrics", show_metrics),
    ]
