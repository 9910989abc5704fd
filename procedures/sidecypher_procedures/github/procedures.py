"""`github.getIssue`, `github.getPullRequest` and `github.getRepository`."""

from typing import Any, Final, TypeVar

from sidecypher import Context, procedure
from sidecypher_procedures.github.client import GithubClient
from sidecypher_procedures.github.errors import GithubError, Gone, NotFound
from sidecypher_procedures.github.names import Kind, Target
from sidecypher_procedures.github.options import FetchOptions
from sidecypher_procedures.github.rows import Issue, PullRequest, Repository

R = TypeVar("R", Issue, PullRequest, Repository)

NO_OPTIONS: Final[dict[str, Any]] = {}
# Time for the answer itself to reach the caller before the call's deadline cancels the body.
_ANSWER_SECONDS: Final = 0.25


@procedure("github.getIssue", mode="READ", timeout=30.0, batch=True)
async def get_issue(
    ctx: Context, owner: str, repo: str, number: int, options: dict[str, Any] = NO_OPTIONS
) -> Issue | None:
    """Get an issue with its live data from GitHub; no row if there is none."""
    return await _fetch(ctx, Issue, Target(Kind.ISSUE, owner, repo, number), options)


@procedure("github.getPullRequest", mode="READ", timeout=30.0, batch=True)
async def get_pull_request(
    ctx: Context, owner: str, repo: str, number: int, options: dict[str, Any] = NO_OPTIONS
) -> PullRequest | None:
    """Get a pull request with its live data from GitHub; no row if there is none."""
    return await _fetch(ctx, PullRequest, Target(Kind.PULL_REQUEST, owner, repo, number), options)


@procedure("github.getRepository", mode="READ", timeout=30.0, batch=True)
async def get_repository(
    ctx: Context, owner: str, name: str, options: dict[str, Any] = NO_OPTIONS
) -> Repository | None:
    """Get a repository with its live data from GitHub; no row if there is none."""
    return await _fetch(ctx, Repository, Target(Kind.REPOSITORY, owner, name), options)


async def _fetch(ctx: Context, row: type[R], target: Target, options: dict[str, Any]) -> R | None:
    wanted = FetchOptions.parse(options)
    client = ctx.resource(GithubClient)
    wait = min(wanted.timeout, ctx.deadline.remaining() - _ANSWER_SECONDS)
    try:
        found = await client.get(target, max_age=wanted.max_age, wait=wait)
    except GithubError as error:
        if wanted.on_error == "null":
            return _failed(row, error)
        if wanted.on_error == "fail" and not isinstance(error, NotFound | Gone):
            raise
        ctx.log.debug("github.no_row", code=error.code)
        return None
    return row(**found.fields, fetched_at=found.fetched_at, stale=found.stale, error=None)


def _failed(row: type[R], error: GithubError) -> R:
    columns: dict[str, Any] = dict.fromkeys(row.__annotations__)
    columns["error"] = {
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "retryable": error.retryable,
        "details": error.details,
    }
    return row(**columns)
