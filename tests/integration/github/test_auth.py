"""Tokens, token files and GitHub Apps against a real HTTP server: renewed, revoked and refused."""

import asyncio
import json
import logging
from datetime import timedelta
from email.utils import format_datetime
from functools import partial

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from fix_app import pem
from fix_waiting import wait_until

from sidecypher_procedures.github import errors
from sidecypher_procedures.github.client import GithubClient
from sidecypher_procedures.github.model import Kind, Target
from sidecypher_procedures.github.settings import GithubSettings

ISSUE = Target(Kind.ISSUE, "octocat", "Hello-World", 7)
OTHER = Target(Kind.ISSUE, "octocat", "Hello-World", 8)
ISSUE_PATH = "/api/v3" + ISSUE.path
TOKENS = "/api/v3/app/installations/42/access_tokens"


def issue(title="A"):
    """Give the JSON of an issue."""
    return {"id": 1, "number": 7, "title": title, "state": "open"}


@pytest.fixture
def app_installation(installation_on, github):
    """The stand-in as GitHub with one installation."""
    return installation_on(github)


@pytest.fixture
def app_client(github, app_installation, client_of, app_settings):
    """What runs a client of the App, with further settings by name."""
    return partial(client_of, github.url + "/api/v3", **app_settings)


def test_an_app_proves_itself_as_github_wants(app_installation, app_client) -> None:
    """The proof is signed by RS256, begins a minute ago, and ends within ten minutes."""

    async def scenario() -> None:
        async with app_client() as client:
            assert (await client.get(ISSUE)).fields["title"] == "A"

    asyncio.run(scenario())
    now = int(app_installation.time.start.timestamp())
    assert app_installation.proof == {"iat": now - 60, "exp": now + 540, "iss": "12345"}
    assert [request.method for request in app_installation.github.requests] == ["POST", "GET"]


def test_a_token_is_taken_once_and_renewed_before_its_end(app_installation, app_client) -> None:
    """Many callers share one token, which is replaced five minutes before its hour is over."""

    async def scenario() -> None:
        async with app_client() as client:
            some = [Target(Kind.ISSUE, "o", "r", number) for number in range(1, 11)]
            await asyncio.gather(*[client.get(target) for target in some])
            for app_installation.time.passed in (54 * 60.0, 56 * 60.0):
                await client.get(ISSUE, max_age=0)

    asyncio.run(scenario())
    assert app_installation.github.paths.count(TOKENS) == len(app_installation.tokens) == 2
    used = [request.headers["authorization"] for request in app_installation.github.requests[-1:]]
    assert used == [f"Bearer {app_installation.tokens[1]}"]


def test_a_new_token_costs_one_full_answer_and_no_entry(app_installation, app_client) -> None:
    """Entries belong to the installation: a new token reads them, and each is asked for once."""

    async def scenario() -> None:
        async with app_client() as client:
            await client.get(ISSUE)
            app_installation.time.passed = 3590.0
            await client.get(OTHER)
            assert len(app_installation.tokens) == 2
            asked = len(app_installation.github.requests)
            await client.get(ISSUE, max_age=3600)
            assert len(app_installation.github.requests) == asked
            await client.get(ISSUE, max_age=0)
            await client.get(ISSUE, max_age=0)

    asyncio.run(scenario())
    old, new = (
        request.headers.get("if-none-match") for request in app_installation.github.requests[-2:]
    )
    assert old != new


def test_a_failing_renewal_spares_a_token_that_still_lives(app_installation, app_client) -> None:
    """While the old token lives it is used when GitHub fails to give a new one."""

    async def scenario() -> None:
        async with app_client(serve_stale=False) as client:
            await client.get(ISSUE)
            app_installation.refusal = app_installation.answering(502)
            app_installation.time.passed = 57 * 60.0
            assert (await client.get(OTHER)).fields["title"] == "A"
            app_installation.time.passed = 61 * 60.0
            with pytest.raises(errors.ServerFailed, match="installation"):
                await client.get(ISSUE)

    asyncio.run(scenario())


def test_a_revoked_installation_token_is_replaced(app_installation, app_client) -> None:
    """A token that GitHub refuses before its hour is over is replaced at once, unseen."""

    async def scenario() -> None:
        async with app_client() as client:
            await client.get(ISSUE)
            app_installation.time.passed = 120.0
            app_installation.refused.add(app_installation.tokens[0])
            assert not (await client.get(ISSUE, max_age=0)).fields["stale"]

    asyncio.run(scenario())
    assert len(app_installation.tokens) == 2


def test_an_app_whose_tokens_are_refused_takes_no_more(app_installation, app_client) -> None:
    """Where even a new token is refused, one token is taken and not one for every request."""
    app_installation.tokens = ["ghs_first"]
    app_installation.github.answer = lambda request: (
        app_installation(request)
        if request.path == TOKENS
        else app_installation.answering(401, body=b"{}")
    )

    async def scenario() -> None:
        async with app_client() as client:
            for target in (ISSUE, OTHER):
                with pytest.raises(errors.BadCredentials):
                    await client.get(target)

    asyncio.run(scenario())
    assert app_installation.github.paths.count(TOKENS) == 1


REFUSALS = {
    "bad signature": (401, b'{"message": "A JSON web token could not be decoded"}', "signature"),
    "suspended": (403, b'{"message": "This installation has been suspended"}', "suspended"),
    "unknown": (404, b'{"message": "Not Found"}', "no such installation"),
    "unprocessable": (422, b"{}", "no token"),
}


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
def test_a_refused_app_is_one_clear_error(app_installation, app_client, refusal, caplog) -> None:
    """401, 403 and 404 for the installation are told apart, without key, proof, token or path."""
    caplog.set_level(logging.DEBUG)
    status, body, said = refusal
    app_installation.refusal = app_installation.answering(status, body=body)
    app_installation.github.date = format_datetime(app_installation.time.start, usegmt=True)

    async def scenario() -> None:
        async with app_client() as client:
            with pytest.raises(errors.AppRefused, match=said) as caught:
                await client.get(ISSUE)
            assert caught.value.details == {"status": status}
            shown = f"{caught.value!r}{caught.value.hint}{vars(client)!r}{caplog.text}"
            assert "eyJ" not in shown
            assert "PRIVATE" not in shown
            assert "app.pem" not in f"{caught.value}{caught.value.hint}"

    asyncio.run(scenario())
    assert app_installation.github.paths == [TOKENS]


@pytest.mark.parametrize(
    ("seconds", "said"), [(-300, "300 seconds ahead"), (900, "900 seconds behind")]
)
def test_a_wrong_clock_is_named(app_installation, app_client, seconds, said) -> None:
    """When GitHub refuses the signature and its clock differs, the error says by how much."""
    app_installation.refusal = app_installation.answering(401, body=b"{}")
    app_installation.github.date = format_datetime(
        app_installation.time.start + timedelta(seconds=seconds), usegmt=True
    )

    async def scenario() -> None:
        async with app_client() as client:
            with pytest.raises(errors.AppRefused, match=said) as caught:
                await client.get(ISSUE)
            assert caught.value.details["clockSkewSeconds"] == -seconds

    asyncio.run(scenario())


def test_a_limit_on_tokens_is_a_limit(app_installation, app_client) -> None:
    """An App that may not even ask for a token is told until when."""
    app_installation.refusal = app_installation.answering(429, {"Retry-After": "600"}, b"{}")

    async def scenario() -> None:
        async with app_client() as client:
            with pytest.raises(errors.RateLimited) as caught:
                await client.get(ISSUE)
            assert caught.value.details["resetAt"] == "2026-01-02T03:14:05+00:00"

    asyncio.run(scenario())


HOURLY = {"X-RateLimit-Remaining": "0", "X-RateLimit-Resource": "core"}


@pytest.mark.parametrize("headers", [{"Retry-After": "600"}, HOURLY], ids=["secondary", "hourly"])
def test_a_limit_on_tokens_stops_asking_for_them(app_installation, app_client, headers) -> None:
    """While an App may not ask for a token, no request asks for one again, nor is sent."""
    app_installation.refusal = app_installation.answering(403, headers, b"{}")

    async def scenario() -> None:
        async with app_client() as client:
            for api in ("rest", "graphql"):
                many = [Target(Kind.ISSUE, "o", "r", number) for number in range(1, 101)]
                found = await client.get_many(many, api=api)
                assert {type(error) for error in found} == {errors.RateLimited}
            app_installation.time.passed = 700.0
            app_installation.refusal = None
            assert (await client.get(ISSUE)).fields["title"] == "A"

    asyncio.run(scenario())
    assert app_installation.github.paths == [TOKENS, TOKENS, ISSUE_PATH]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"ghs_secret",
        b'{"token": "ghs_secret"}',
        b'{"token": "ghs_secret", "expires_at": "soon"}',
        b'{"token": "ghs_secret", "expires_at": "2026-01-02T03:04:05"}',
        b'{"token": "ghs_secret\\r\\nX: y", "expires_at": "2026-01-02T03:04:05Z"}',
        b'{"token": 1, "expires_at": "2026-01-02T03:04:05Z"}',
    ],
)
def test_an_answer_without_a_token_is_unusable(app_installation, app_client, body) -> None:
    """What holds no token, or one that is no token, is one error that quotes nothing of it."""
    app_installation.refusal = app_installation.answering(201, body=body)

    async def scenario() -> None:
        async with app_client() as client:
            with pytest.raises(errors.UnusableAnswer, match="holds no token") as caught:
                await client.get(ISSUE)
            assert "ghs_secret" not in str(caught.value)
            assert caught.value.__cause__ is None

    asyncio.run(scenario())


def test_a_key_that_is_none_is_refused_at_once(app_key, tmp_path) -> None:
    """A missing file, bad PEM, another kind of key and a key with a password name the setting."""
    elliptic = ec.generate_private_key(ec.SECP256R1())
    public = app_key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    contents = {
        "empty": b"",
        "truncated": pem(app_key)[:300],
        "binary": b"\0\xff" * 100,
        "elliptic": pem(elliptic),
        "public": public,
        "locked": pem(app_key, serialization.BestAvailableEncryption(b"secret")),
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    for name in [*contents, "missing", "."]:
        settings = GithubSettings(app_id="1", app_installation_id=2, app_key_file=tmp_path / name)
        with pytest.raises(errors.GithubSettingsError, match="APP_KEY_FILE") as caught:
            GithubClient(settings)
        assert str(tmp_path) not in str(caught.value)
        assert caught.value.__cause__ is None


def _number(path):
    """Return the number that a path of the REST API ends with."""
    number = path.rpartition("/")[2]
    return int(number) if number.isdigit() else 7


def answering_to(answering, *tokens):
    """Answer only to these tokens."""
    known = {f"Bearer {token}" for token in tokens}
    return lambda request: (
        answering.of(
            issue(request.headers["authorization"]) | {"number": _number(request.path)}, ETag='"x"'
        )
        if request.headers["authorization"] in known
        else answering(401, body=b"{}")
    )


def test_a_rotated_token_file_is_read_again(github, answering, client_of, tmp_path) -> None:
    """When GitHub refuses the token its file is read again, and the request goes on."""
    file = tmp_path / "token"
    file.write_text("ghp_old\n")
    github.answer = answering_to(answering, "ghp_old")

    async def scenario() -> None:
        async with client_of(github.url, token_file=file) as client:
            await client.get(ISSUE)
            file.write_text("ghp_new\n")
            github.answer = answering_to(answering, "ghp_new")
            assert not (await client.get(ISSUE, max_age=0)).fields["stale"]
            await client.get(ISSUE)

    asyncio.run(scenario())
    used = [request.headers["authorization"] for request in github.requests]
    assert used == ["Bearer ghp_old", "Bearer ghp_old", "Bearer ghp_new"]
    assert "if-none-match" in github.requests[1].headers
    assert "if-none-match" not in github.requests[2].headers


def test_a_rotated_token_sees_nothing_of_the_old_one(
    github, answering, client_of, tmp_path
) -> None:
    """What the old token saw is not given to whoever the new one is."""
    file = tmp_path / "token"
    file.write_text("ghp_old")
    github.answer = answering_to(answering, "ghp_old")

    async def scenario() -> None:
        async with client_of(github.url, token_file=file) as client:
            await client.get(ISSUE)
            file.write_text("ghp_new")
            github.answer = answering_to(answering, "ghp_new")
            await client.get(OTHER)
            assert (await client.get(ISSUE)).fields["title"] == "Bearer ghp_new"

    asyncio.run(scenario())


@pytest.fixture
def rotating(github, answering, client_of, tmp_path):
    """A stand-in that holds back what it has for the old token, and what runs a client of both.

    The old token is refused for the issue 8, and its file then holds the new one.
    """
    file = tmp_path / "token"
    file.write_text("ghp_old")
    both = answering_to(answering, "ghp_old", "ghp_new")

    def answer(request):
        asker = request.headers["authorization"]
        if request.path == OTHER.path and asker == "Bearer ghp_old":
            file.write_text("ghp_new")
            return answering(401, body=b"{}")
        if request.path != "/graphql":
            return both(request)
        names = json.loads(request.body)["variables"].items()
        numbers = {int(name[6:]): number for name, number in names if name.startswith("number")}
        node = {"__typename": "Issue", "title": asker, "state": "OPEN"}
        node |= {"fullDatabaseId": "1", "comments": {"totalCount": 0}}
        found = {f"k{index}": {**node, "number": number} for index, number in numbers.items()}
        return answering.of({"data": {"r0": found}})

    github.answer = answer
    github.hold = lambda request: (
        request.path != OTHER.path and request.headers["authorization"] == "Bearer ghp_old"
    )
    return partial(client_of, github.url, token_file=file)


def test_an_answer_is_kept_for_whom_it_was_given_to(rotating, github) -> None:
    """What the old token is given after it was replaced is not kept for the new one."""

    async def scenario() -> None:
        async with rotating() as client:
            before = asyncio.create_task(client.get(ISSUE))
            await asyncio.to_thread(wait_until, lambda: github.paths == [ISSUE.path])
            await client.get(OTHER)
            github.released.set()
            assert (await before).fields["title"] == "Bearer ghp_old"
            assert (await client.get(ISSUE)).fields["title"] == "Bearer ghp_new"

    asyncio.run(scenario())


def test_a_condition_is_sent_by_whom_it_was_given_to(rotating, github, answering) -> None:
    """A request that is sent after the token was replaced does not carry the old one's ETag."""
    moved, answer = "/repositories/1/issues/7", github.answer

    async def scenario() -> None:
        async with rotating() as client:
            github.released.set()
            await client.get(ISSUE)
            github.released.clear()
            github.requests.clear()
            github.answer = lambda request: (
                answering(302, {"Location": moved}, b"{}")
                if request.path == ISSUE.path
                else answering(304)
                if "if-none-match" in request.headers
                else answer(request)
            )
            before = asyncio.create_task(client.get(ISSUE, max_age=0))
            await asyncio.to_thread(wait_until, lambda: github.paths == [ISSUE.path])
            await client.get(OTHER)
            github.released.set()
            assert (await before).fields["title"] == "Bearer ghp_new"
            assert (await client.get(ISSUE)).fields["title"] == "Bearer ghp_new"

    asyncio.run(scenario())
    sent = [request.headers for request in github.requests if request.path != OTHER.path]
    assert ["if-none-match" in headers for headers in sent] == [True, False]


def test_a_request_is_shared_by_one_credential_alone(rotating, github) -> None:
    """A caller with the new token does not join the request of the old one."""

    async def scenario() -> None:
        async with rotating() as client:
            before = asyncio.create_task(client.get(ISSUE))
            await asyncio.to_thread(wait_until, lambda: github.paths == [ISSUE.path])
            await client.get(OTHER)
            assert (await client.get(ISSUE)).fields["title"] == "Bearer ghp_new"
            github.released.set()
            assert (await before).fields["title"] == "Bearer ghp_old"

    asyncio.run(scenario())
    assert github.paths.count(ISSUE.path) == 2


def test_a_query_is_shared_by_one_credential_alone(rotating, github) -> None:
    """A batch of the new token does not join the query of the old one, nor get what it kept."""
    many = [Target(Kind.ISSUE, "o", "r", number) for number in range(1, 31)]

    async def scenario() -> None:
        async with rotating() as client:
            before = asyncio.create_task(client.get_many(many))
            await asyncio.to_thread(wait_until, lambda: github.paths == ["/graphql"])
            await client.get(OTHER)
            after = asyncio.create_task(client.get_many(many))
            await asyncio.to_thread(wait_until, lambda: github.paths.count("/graphql") == 2)
            assert {found.fields["title"] for found in await after} == {"Bearer ghp_new"}
            github.released.set()
            assert {found.fields["title"] for found in await before} == {"Bearer ghp_old"}
            kept = await client.get_many(many)
            assert {found.fields["title"] for found in kept} == {"Bearer ghp_new"}

    asyncio.run(scenario())
    assert github.paths.count("/graphql") == 2


def test_a_limit_of_the_old_token_does_not_stop_the_new_one(
    github, answering, client_of, tmp_path
) -> None:
    """A limit met by a token that is refused a moment later ends with it."""
    file = tmp_path / "token"
    file.write_text("ghp_old")
    old = {ISSUE.path: answering(429, {"Retry-After": "600"}), OTHER.path: answering(401)}
    answer = answering_to(answering, "ghp_new")
    github.answer = lambda request: (
        old[request.path] if "old" in request.headers["authorization"] else answer(request)
    )
    github.open.clear()

    async def scenario() -> None:
        async with client_of(github.url, token_file=file) as client:
            asking = [asyncio.create_task(client.get(target)) for target in (ISSUE, OTHER)]
            await asyncio.to_thread(wait_until, lambda: len(github.requests) == 2)
            file.write_text("ghp_new")
            github.open.set()
            await asyncio.gather(*asking, return_exceptions=True)
            assert (await client.get(OTHER)).fields["title"] == "Bearer ghp_new"
            assert (await client.get(ISSUE)).fields["title"] == "Bearer ghp_new"

    asyncio.run(scenario())


@pytest.mark.parametrize("content", [None, "", "two words"])
def test_a_token_file_that_broke_is_named(github, answering, client_of, tmp_path, content) -> None:
    """A file that holds no token when it is read again is an error that names its setting."""
    file = tmp_path / "token"
    file.write_text("ghp_old")
    github.answer = lambda _: answering(401, body=b"{}")

    async def scenario() -> None:
        async with client_of(github.url, token_file=file) as client:
            file.unlink() if content is None else file.write_text(content)
            with pytest.raises(errors.GithubSettingsError, match="TOKEN_FILE") as caught:
                await client.get(ISSUE)
            assert str(tmp_path) not in str(caught.value)

    asyncio.run(scenario())


def test_a_token_revoked_mid_way_is_its_own_outcome(github, answering, client_of, time) -> None:
    """A token that worked and no longer does is told apart from one that never did."""
    github.answer = answering_to(answering, "ghp_token")

    async def scenario() -> None:
        async with client_of(github.url, token="ghp_token") as client:
            await client.get(ISSUE)
            github.answer = answering_to(answering)
            for target in (ISSUE, OTHER):
                with pytest.raises(errors.CredentialRevoked) as caught:
                    await client.get(target, max_age=0)
                assert caught.value.code == "SC-520"
                assert caught.value.details == {"status": 401}
                assert not caught.value.retryable
                assert "ghp_" not in f"{caught.value!r}{caught.value.hint}"

    asyncio.run(scenario())


def test_a_refused_token_is_not_tried_for_every_row(github, answering, client_of, time) -> None:
    """What is queued behind a token that GitHub refuses is not sent; ten seconds later it is."""
    github.answer = lambda _: answering(401, body=b"{}")
    many = [Target(Kind.ISSUE, "o", "r", number) for number in range(1, 101)]

    async def scenario() -> None:
        async with client_of(github.url, token="ghp_token") as client:
            found = await client.get_many(many, api="rest")
            assert {type(error) for error in found} == {errors.BadCredentials}
            assert len({error.message for error in found}) == 100
            assert len(github.requests) <= 20
            github.answer = answering_to(answering, "ghp_token")
            with pytest.raises(errors.BadCredentials):
                await client.get(ISSUE)
            time.passed = 10.0
            assert (await client.get(ISSUE)).fields["number"] == 7

    asyncio.run(scenario())


@pytest.fixture
def reads(monkeypatch):
    """Each time that a token was read from wherever it is."""
    found = []
    credential = GithubSettings.credential

    def noting(settings):
        found.append(settings)
        return credential(settings)

    monkeypatch.setattr(GithubSettings, "credential", noting)
    return found


def test_a_bad_replacement_is_not_tried_by_all_who_are_under_way(
    github, answering, client_of, tmp_path
) -> None:
    """Who hears later that the token is refused is told what became of the other one."""
    file = tmp_path / "token"
    file.write_text("ghp_old")
    github.answer = lambda _: answering(401, body=b"{}")
    github.hold = lambda request: request.path != ISSUE.path
    late = [Target(Kind.ISSUE, "o", "r", number) for number in range(1, 6)]

    async def scenario() -> None:
        async with client_of(github.url, token_file=file) as client:
            under_way = asyncio.create_task(client.get_many(late))
            await asyncio.to_thread(wait_until, lambda: len(github.requests) == len(late))
            file.write_text("ghp_new")
            with pytest.raises(errors.BadCredentials):
                await client.get(ISSUE)
            github.released.set()
            assert {type(error) for error in await under_way} == {errors.BadCredentials}

    asyncio.run(scenario())
    used = [request.headers["authorization"] for request in github.requests]
    assert used.count("Bearer ghp_new") == 1


def test_a_broken_token_file_is_read_once_for_all_rows(
    rotating, github, answering, time, reads
) -> None:
    """The rows of a batch share why the token cannot be replaced; ten seconds later it is."""
    file = rotating.keywords["token_file"]
    github.released.set()
    github.answer = answering_to(answering, "ghp_new")
    many = [Target(Kind.ISSUE, "o", "r", number) for number in range(1, 101)]

    async def scenario() -> None:
        async with rotating() as client:
            file.unlink()
            found = await client.get_many(many, api="rest")
            assert {type(error) for error in found} == {errors.GithubSettingsError}
            assert len(reads) == 2
            assert len(github.requests) <= 20
            file.write_text("ghp_new")
            time.passed = 10.0
            assert (await client.get(ISSUE)).fields["number"] == 7

    asyncio.run(scenario())


@pytest.mark.parametrize("was_accepted", [False, True])
@pytest.mark.parametrize("api", ["rest", "graphql"])
def test_a_refused_app_is_asked_for_once_for_all_rows(
    app_installation, app_client, was_accepted, api
) -> None:
    """The rows of a batch share why the App gets no token; ten seconds later it may get one."""
    many = [Target(Kind.ISSUE, "o", "r", number) for number in range(1, 301)]

    async def scenario() -> None:
        async with app_client() as client:
            if was_accepted:
                await client.get(ISSUE)
                app_installation.time.passed = 120.0
                app_installation.refused.add(app_installation.tokens[0])
            app_installation.refusal = app_installation.answering(403, body=b"{}")
            found = await client.get_many(many, api=api)
            assert {type(error) for error in found} == {errors.AppRefused}
            assert app_installation.github.paths.count(TOKENS) == 1 + was_accepted
            app_installation.refusal = None
            app_installation.time.passed += 10.0
            assert (await client.get(ISSUE)).fields["title"] == "A"

    asyncio.run(scenario())


async def failures(client):
    """Give the errors of two reads, which tell the same."""
    with pytest.raises(errors.GithubError) as first:
        await client.get(ISSUE)
    with pytest.raises(errors.GithubError) as second:
        await client.get(ISSUE)
    assert vars(first.value) == vars(second.value)
    return first.value, second.value


def test_why_an_app_gets_no_token_is_an_error_of_each_call(app_installation, app_client) -> None:
    """Who adds to the error that he gets changes that of nobody else."""
    app_installation.refusal = app_installation.answering(403, body=b"{}")

    async def scenario() -> None:
        async with app_client() as client:
            first, second = await failures(client)
            assert first is not second

    asyncio.run(scenario())
    assert app_installation.github.paths == [TOKENS]


def test_why_a_token_has_no_replacement_is_an_error_of_each_call(
    github, answering, client_of, tmp_path, reads
) -> None:
    """Who adds to the error that he gets changes that of nobody else."""
    file = tmp_path / "token"
    file.write_text("ghp_old")
    github.answer = lambda _: answering(401, body=b"{}")

    async def scenario() -> None:
        async with client_of(github.url, token_file=file) as client:
            file.unlink()
            first, second = await failures(client)
            assert first is not second

    asyncio.run(scenario())
    assert len(reads) == 2


def test_without_a_token_a_401_is_a_missing_token(github, answering, client_of) -> None:
    """A GitHub that wants a token now, and did not before, revoked none."""
    github.answer = lambda _: answering.of(issue())

    async def scenario() -> None:
        async with client_of(github.url) as client:
            await client.get(ISSUE)
            github.answer = lambda _: answering(401, body=b"{}")
            with pytest.raises(errors.BadCredentials):
                await client.get(ISSUE, max_age=0)

    asyncio.run(scenario())
