"""`@webhook`, and how webhooks are found beside procedures."""

import functools
from pathlib import Path

import pytest
from fix_modules import good, names, write
from fix_waiting import awaited

from sidecypher import WebhookAnswer, WebhookRequest, webhook
from sidecypher.errors import SignatureError
from sidecypher.loading.loader import load
from sidecypher.sdk.resources import Resources

HOOK = """
from sidecypher import WebhookAnswer, webhook

@webhook("/webhooks/{name}")
async def receive(request):
    return WebhookAnswer(202, "{text}")
"""


def hook(name, text=""):
    return HOOK.format(name=name, text=text)


def own(loaded):
    """The webhooks of the folder, without those of installed packages."""
    return {path: each for path, each in loaded.webhooks.items() if path != "/webhooks/github"}


async def told(loaded, path):
    request = WebhookRequest(Path(), Resources(), {}, b"")
    return (await loaded.webhooks[path].function(request)).text


def test_webhooks_are_found_beside_procedures(tmp_path):
    """A module may have both, and neither is the other."""
    write(tmp_path, "both.py", good("kg.good") + hook("kg"))

    loaded = load([tmp_path])

    assert names(loaded) == ["kg.good"]
    assert list(own(loaded)) == ["/webhooks/kg"]
    assert loaded.failures == ()


def test_two_webhooks_of_one_path_are_refused(tmp_path):
    """The second module is left out as a whole, and told by path."""
    write(tmp_path, "a.py", hook("kg"))
    write(tmp_path, "b.py", good("kg.good") + hook("kg"))

    loaded = load([tmp_path])

    [failure] = loaded.failures
    assert (failure.module, names(loaded)) == ("b.py", [])
    assert failure.reason == "another webhook (a.py:4) already has the name `/webhooks/kg`."


@awaited
async def test_a_reload_takes_the_changed_webhook(tmp_path):
    """What is posted next gets to the new code."""
    write(tmp_path, "a.py", hook("kg", "first"))
    before = load([tmp_path])

    write(tmp_path, "a.py", hook("kg", "changed"))
    after = load([tmp_path], before)

    assert await told(before, "/webhooks/kg") == "first"
    assert await told(after, "/webhooks/kg") == "changed"


@awaited
async def test_a_module_that_cannot_be_loaded_keeps_its_webhook(tmp_path):
    """As with procedures, the code before it goes on."""
    write(tmp_path, "a.py", hook("kg", "first"))
    before = load([tmp_path])

    write(tmp_path, "a.py", hook("kg", "changed") + "\nraise RuntimeError")
    after = load([tmp_path], before)

    assert [each.module for each in after.failures] == ["a.py"]
    assert await told(after, "/webhooks/kg") == "first"


def test_a_removed_webhook_is_gone(tmp_path):
    """A path whose module was deleted has no webhook any more."""
    write(tmp_path, "a.py", hook("kg"))
    before = load([tmp_path])

    (tmp_path / "a.py").unlink()

    assert own(load([tmp_path], before)) == {}


@pytest.mark.parametrize(
    "path",
    ["", "/", "/hooks", "webhooks/kg", "/webhooks", "/webhooks/", "/webhooks/KG", "/webhooks/a//b",
     "/webhooks/../v1/call/x", "/webhooks/a/", "/webhooks/a?b", "/webhooks/{a}", "/livez", 7],
)  # fmt: skip
def test_a_path_that_hides_another_is_refused(path):
    """Only plain names below `/webhooks/` are paths of webhooks."""
    with pytest.raises(SignatureError, match="path that is not valid"):
        webhook(path)


def test_a_webhook_must_be_an_async_function_of_one_argument():
    """Others are refused at import, with file and line."""

    def plain(request): ...

    async def lonely(): ...

    async def generator(request):
        yield

    for body in (plain, lonely, generator):
        with pytest.raises(SignatureError, match=r"`/webhooks/kg` \(test_webhooks.py:\d+\) is no"):
            webhook("/webhooks/kg")(body)
    with pytest.raises(SignatureError):
        webhook("/webhooks/kg")(7)


def test_checks_of_requests_are_plain_functions():
    """An async one would never run, and its coroutine would look like a refusal."""

    async def receive(request): ...

    async def later(request): ...

    def lonely(): ...

    for option in ("check", "verify"):
        for body in (later, lonely):
            with pytest.raises(
                SignatureError, match=f"`{option}` of the webhook `/webhooks/kg` is"
            ):
                webhook("/webhooks/kg", **{option: body})(receive)
        webhook("/webhooks/kg", **{option: functools.partial(print, "a secret")})(receive)


def test_what_runs_behind_a_webhook_is_an_async_function_of_one_argument():
    """As with `@background`, others are refused at import."""

    async def receive(request): ...

    def plain(context): ...

    with pytest.raises(SignatureError, match=r"`/webhooks/kg` \(test_webhooks.py:\d+\) is no"):
        webhook("/webhooks/kg", background=plain)(receive)


@awaited
async def test_the_function_stays_callable():
    """The decorator gives the function back."""

    @webhook("/webhooks/kg")
    async def receive(request):
        return WebhookAnswer(200, request.headers["x-kg"])

    answer = await receive(WebhookRequest(Path(), Resources(), {"x-kg": "there"}, b""))

    assert answer == WebhookAnswer(200, "there")


def test_what_was_posted_is_not_shown():
    """A request shows no shared objects when it is printed."""
    assert "Resources" not in repr(WebhookRequest(Path(), Resources(), {}, b""))
