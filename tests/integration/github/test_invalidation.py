"""What is dropped from memory is asked for again, also when it was under way."""

import asyncio

import pytest

from sidecypher.testing import ProcedureEnvironment
from sidecypher_procedures.github import errors
from sidecypher_procedures.github.model import Kind, Target
from sidecypher_procedures.github.procedures import get_issue, invalidate

ISSUE = Target(Kind.ISSUE, "octocat", "Hello-World", 7)
PATH = "/repos/octocat/Hello-World/issues/7"
NEW = "/repos/octocat/Planet/issues/7"


def issue(title="A", repo="Hello-World"):
    """Give the JSON of an issue."""
    page = f"https://github.com/octocat/{repo}/issues/7"
    return {"id": 1, "node_id": "I_1", "number": 7, "title": title, "html_url": page}


def test_what_is_invalidated_is_asked_for_again(github, answering, client_of) -> None:
    """One number, in any case, drops the issue and the pull request of it; each costs a call."""
    github.answer = lambda _: answering.of(issue(), ETag='"1"')

    async def scenario() -> None:
        async with client_of(github.url) as client:
            await client.get(ISSUE)
            await client.get(Target(Kind.PULL_REQUEST, "octocat", "Hello-World", 7))

            assert client.invalidate("OctoCat", "hello-world", 7) == 2
            assert client.invalidate("octocat", "Hello-World", 7) == 0
            await client.get(ISSUE)
            assert client.invalidate("octocat", "Hello-World") == 1
            assert client.invalidate("octocat", "Hello") == 0

    asyncio.run(scenario())
    assert github.paths == [PATH, PATH.replace("issues", "pulls"), PATH]
    assert "if-none-match" not in github.requests[-1].headers


@pytest.mark.parametrize("number", [7, None])
def test_an_answer_under_way_cannot_undo_it(github, answering, client_of, number) -> None:
    """Who asked before gets the old answer, which is not kept; who asks after does not share it."""
    titles = iter(["old", "new"])
    github.answer = lambda _: answering.of(issue(next(titles)))
    github.open.clear()

    async def scenario() -> None:
        async with client_of(github.url) as client:
            before = asyncio.create_task(client.get(ISSUE))
            await asyncio.to_thread(github.arrived.wait, 10)
            client.invalidate("octocat", "Hello-World", number)
            github.arrived.clear()
            after = asyncio.create_task(client.get(ISSUE))
            await asyncio.to_thread(github.arrived.wait, 10)
            github.open.set()

            assert (await before).fields["title"] == "old"
            assert (await after).fields["title"] == "new"
            assert (await client.get(ISSUE)).fields["title"] == "new"

    asyncio.run(scenario())
    assert len(github.requests) == 2


def test_a_renamed_repository_is_one_under_all_its_names(github, answering, client_of) -> None:
    """An issue found by an old name is known by the new one, and goes by either."""
    github.answer = lambda request: (
        answering(301, {"Location": NEW}, b"{}")
        if request.path == PATH
        else answering.of(issue(repo="Planet"))
    )

    async def scenario() -> None:
        async with client_of(github.url) as client:
            old = await client.get(ISSUE)
            assert await client.get(Target(Kind.ISSUE, "octocat", "PLANET", 7)) == old
            assert client.invalidate("octocat", "Planet", 7) == 1
            await client.get(ISSUE)
            assert client.invalidate("octocat", "Hello-World") == 1

    asyncio.run(scenario())
    assert github.paths == [PATH, NEW, NEW]


@pytest.mark.parametrize("number", [7, None])
def test_a_name_that_is_invalidated_is_asked_for_itself(
    github, answering, client_of, number
) -> None:
    """A remembered move is dropped too: the old name may have been given to a new repository."""
    github.answer = lambda request: (
        answering(301, {"Location": NEW}, b"{}")
        if request.path == PATH
        else answering.of(issue(repo="Planet"))
    )

    async def scenario() -> None:
        async with client_of(github.url) as client:
            await client.get(ISSUE)
            github.answer = lambda _: answering.of({**issue("another"), "node_id": "I_2"})
            client.invalidate("octocat", "Hello-World", number)
            assert (await client.get(ISSUE, max_age=0)).fields["title"] == "another"

    asyncio.run(scenario())
    assert github.paths == [PATH, NEW, PATH]


@pytest.mark.parametrize("number", [7, None])
def test_a_move_under_way_is_not_remembered_after_it(github, answering, client_of, number) -> None:
    """Where a request that began before it was led is not believed: the name is asked again."""
    github.answer = lambda request: (
        answering(301, {"Location": NEW}, b"{}")
        if request.path == PATH
        else answering.of(issue(repo="Planet"))
    )
    github.open.clear()

    async def scenario() -> None:
        async with client_of(github.url) as client:
            before = asyncio.create_task(client.get(ISSUE))
            await asyncio.to_thread(github.arrived.wait, 10)
            client.invalidate("octocat", "Hello-World", number)
            github.open.set()
            await before
            await client.get(ISSUE)

    asyncio.run(scenario())
    assert github.paths == [PATH, NEW, PATH, NEW]


@pytest.mark.parametrize("arguments", [("o/x", "r"), ("o", ".."), ("o", "r", 0), ("o", "r", True)])
def test_a_bad_name_is_refused(client_of, arguments) -> None:
    """What cannot be a name drops nothing."""

    async def scenario() -> None:
        async with client_of("http://127.0.0.1:1") as client:
            with pytest.raises(errors.InvalidName):
                client.invalidate(*arguments)

    asyncio.run(scenario())


def test_the_procedure_tells_how_many_it_dropped(github, answering, monkeypatch) -> None:
    """`github.invalidate` takes a number or none; what is not in memory counts nothing."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", github.url)
    github.answer = lambda request: answering.of(
        {"id": 1, "number": int(request.path[-1]), "node_id": request.path}
    )

    with ProcedureEnvironment(get_issue, invalidate) as environment:
        for number in (7, 8, 9):
            environment.call("github.getIssue", "octocat", "Hello-World", number)

        asked = [("octocat", "Hello-World", 7), ("octocat", "Hello-World"), ("octocat", "None")]
        assert [environment.call("github.invalidate", *names) for names in asked] == [
            [{"dropped": 1}],
            [{"dropped": 2}],
            [{"dropped": 0}],
        ]
