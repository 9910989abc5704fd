"""What a merge of a list reads from GitHub, what it keeps when GitHub fails, and its cursor."""

import json
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

import pytest

from sidecypher.testing import ProcedureEnvironment
from sidecypher_procedures.github import bulk, merges
from sidecypher_procedures.github.client import GithubClient
from sidecypher_procedures.github.procedures import merge_issues, merge_pull_requests

ANN = {"login": "ann", "id": 11, "type": "User"}
MOMENTS = {"created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:05Z"}
REPOSITORY = {
    "id": 1,
    "owner": ANN,
    "name": "r",
    "full_name": "o/r",
    "html_url": "https://x/o/r",
    "default_branch": "main",
    **MOMENTS,
}
LIMITED = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "99999999999"}


def issue(number):
    """An issue as GitHub lists it."""
    return {"id": number + 100, "number": number, "user": ANN, "body": "x" * 99, **MOMENTS}


def pull(number, closes=()):
    """A pull request as GitHub lists it."""
    base = {"ref": "main", "repo": {"full_name": "o/r"}}
    return {**issue(number), "body": " ".join(f"Fixes #{each}." for each in closes), "base": base}


@pytest.fixture
def origin(github, answering, monkeypatch):
    """Give a stand-in with lists, configured as the sidecar's GitHub; it fails by `failing`."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", github.url)
    github.things = []
    github.failing = lambda _request: None

    def answer(request):
        url = urlsplit(request.path)
        failed = github.failing(request)
        if failed is not None:
            return failed
        if url.path == "/repos/o/r":
            return answering.of(REPOSITORY)
        if url.path.count("/") > 4:
            return answering.of(issue(int(url.path.rpartition("/")[2])))
        page = int(parse_qs(url.query).get("page", ["1"])[0])
        found = github.things[page * 100 - 100 : page * 100]
        link = f'<{github.url}{url.path}?per_page=100&page={page + 1}>; rel="next"'
        return answering.of(found, **({"Link": link} if len(github.things) > page * 100 else {}))

    github.answer = answer
    return github


@pytest.fixture
def written(monkeypatch):
    """Give what would be written; the graph is stood in for."""
    found = []

    async def write(_ctx, things):
        found.extend(things)
        return list(things)

    monkeypatch.setattr(bulk.store, "merge_issues", write)
    monkeypatch.setattr(bulk.store, "merge_pull_requests", write)
    return found


@pytest.fixture
def merge(written):
    """Give a merge in a sidecar of its own: its row."""

    def row(what, timeout=30.0, **options):
        with ProcedureEnvironment(merge_issues, merge_pull_requests, timeout=timeout) as sidecar:
            (found,) = sidecar.call(f"github.merge{what}", "o", "r", options)
            return found

    return row


def numbers(written):
    return [each.thing.fields["number"] for each in written]


def test_pages_before_a_rate_limit_are_written(origin, answering, merge, written) -> None:
    """Nothing further is asked of GitHub for what was read already."""
    origin.things = [issue(number) for number in range(1, 151)]
    origin.failing = lambda _: answering(403, LIMITED, b"{}") if len(origin.requests) > 2 else None

    row = merge("Issues", onError="null")

    assert (row["merged"], row["done"], row["error"]["code"]) == (100, False, "SC-507")
    origin.failing = lambda _: None
    assert merge("Issues", cursor=row["cursor"])["done"] is True
    assert numbers(written) == list(range(1, 151))


def test_time_is_kept_for_writing(origin, merge, written) -> None:
    """A page that does not come ends the reading before the call's own end."""
    origin.things = [issue(number) for number in range(1, 151)]
    origin.hold = lambda request: "&page=2" in request.path

    row = merge("Issues", timeout=2.0, onError="null")

    assert (row["merged"], row["done"], row["error"]["code"]) == (100, False, "SC-510")
    assert len(written) == 100


def test_pull_requests_before_a_failed_query_are_written(
    origin, answering, merge, written, monkeypatch
) -> None:
    """What was resolved is kept, and the cursor continues with what was not."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_TOKEN", "secret")
    origin.things = [pull(number) for number in range(1, 121)]
    queries = []

    def resolve(request):
        if request.path != "/graphql":
            return None
        queries.append(json.loads(request.body)["variables"])
        if len(queries) == 2:
            return answering(403, LIMITED, b"{}")
        places = [name for name in queries[-1] if name.startswith("number")]
        none = {"closingIssuesReferences": {"nodes": []}}
        found = {name.replace("number", "k"): none for name in places}
        return answering.of({"data": {"repository": found}})

    origin.failing = resolve

    row = merge("PullRequests", onError="null")

    assert (row["merged"], row["done"], row["error"]["code"]) == (50, False, "SC-507")
    assert merge("PullRequests", cursor=row["cursor"])["done"] is True
    assert numbers(written) == list(range(1, 121))


def test_an_unusable_entry_is_not_passed_over(origin, merge, written) -> None:
    """The cursor stays before it, so that each call says that it cannot be merged."""
    origin.things = [issue(1), issue(2), {**issue(3), "user": {"login": "ann"}}, issue(4)]

    row = merge("Issues", onError="null")
    again = merge("Issues", onError="null", cursor=row["cursor"])

    assert (row["merged"], row["error"]["code"]) == (2, "SC-511")
    assert (again["merged"], again["error"]["code"]) == (None, "SC-511")
    assert numbers(written) == [1, 2]


@pytest.mark.parametrize("what", ["Issues", "PullRequests"])
@pytest.mark.parametrize(
    "options", [{"state": "open"}, {"since": datetime(2026, 1, 1, tzinfo=UTC)}]
)
def test_only_a_whole_list_can_be_continued_after_its_end(origin, merge, what, options) -> None:
    """What is new in a part of it may be on a page that was read."""
    make = issue if what == "Issues" else pull
    origin.things = [make(number) for number in range(1, 4)]

    assert merge(what)["cursor"] is not None
    assert merge(what, **options)["cursor"] is None
    assert merge(what, **options, limit=2)["cursor"] is not None


@pytest.mark.parametrize("what", ["Issues", "PullRequests"])
def test_texts_are_not_kept_until_all_is_read(origin, merge, written, what) -> None:
    """Ten thousand of them may have gigabytes."""
    origin.things = [issue(1)] if what == "Issues" else [pull(1, closes=[7])]

    merge(what)

    (placed,) = written
    for thing in (placed.thing, *(each.thing for each in placed.resolves)):
        assert set(thing.fields) == {"id", "number", "created_at", "updated_at"}
    assert len(placed.resolves) == (what != "Issues")


def test_a_call_asks_for_so_many_issues_of_texts_only(origin, merge, written, monkeypatch) -> None:
    """It ends early, and the next one continues; few issues are asked for at a time."""
    monkeypatch.setattr(merges, "_MOST_NAMED", 1_100)
    get, at_a_time = GithubClient.get, [0, 0]

    async def counting(client, target, **options):
        at_a_time[0] += 1
        at_a_time[1] = max(at_a_time)
        try:
            return await get(client, target, **options)
        finally:
            at_a_time[0] -= 1

    monkeypatch.setattr(GithubClient, "get", counting)
    origin.things = [
        pull(number, closes=range(number * 10, number * 10 + 3)) for number in range(1, 61)
    ]

    row = merge("PullRequests")

    assert (row["merged"], row["done"], row["error"]) == (50, False, None)
    assert at_a_time == [0, 20]
    assert merge("PullRequests", cursor=row["cursor"])["done"] is True
    assert [len(each.resolves) for each in written] == [3] * 60
