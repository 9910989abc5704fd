"""`@background`: what such a function may be, how it is found, and when it runs and ends."""

import asyncio

import pytest
import structlog.testing
from fix_modules import write
from fix_waiting import wait_until

from sidecypher import SidecarContext, SignatureError, WebhookAnswer, background, webhook
from sidecypher.calls.executors.loop import EventLoop
from sidecypher.loading.loader import Loaded, load
from sidecypher.operations import backgrounds
from sidecypher.operations.backgrounds import Backgrounds
from sidecypher.sdk.registry import Registry
from sidecypher.sdk.resources import Resources

BACKGROUND = """
from sidecypher import background

@background("kg.work")
async def work(context):
    return "{text}"
"""


class Work:
    """A function that notes its context and its end."""

    def __init__(self):
        self.contexts = []
        self.ended = False

    async def run(self, context):
        self.contexts.append(context)
        try:
            await asyncio.sleep(60)
        finally:
            self.ended = True


@pytest.fixture
def loop():
    loop = EventLoop()
    yield loop
    loop.stop()


@pytest.fixture
def running(loop, tmp_path):
    return Backgrounds(loop, Resources(), tmp_path)


def loaded_of(*functions):
    """Return these functions as if they had just been loaded."""
    found = {}
    for number, function in enumerate(functions):

        async def named(context, function=function):
            await function(context)

        background(f"kg.n{number}")(named)
        found[f"kg.n{number}"] = named.__sidecypher_background__
    return Loaded(Registry([]), backgrounds=found)


def own(loaded):
    """The names of the folder's functions, without those of installed packages."""
    return [name for name in loaded.backgrounds if name.startswith("kg.")]


def test_a_function_runs_until_it_is_replaced(running, tmp_path):
    """A load that no longer has it cancels it, and starts what is new; the others go on."""
    first, second, third = Work(), Work(), Work()
    before = loaded_of(first.run, second.run)
    running.run(before)
    wait_until(lambda: first.contexts and second.contexts)

    changed = {**before.backgrounds, "kg.n1": loaded_of(third.run).backgrounds["kg.n0"]}
    running.run(Loaded(Registry([]), backgrounds=changed))

    wait_until(lambda: second.ended and third.contexts)
    assert not first.ended
    assert len(first.contexts) == 1
    [context] = first.contexts
    assert isinstance(context, SidecarContext)
    assert context.home == tmp_path


def test_a_function_ends_with_the_sidecar(tmp_path):
    """The end of the event loop cancels it."""
    work, loop = Work(), EventLoop()
    Backgrounds(loop, Resources(), tmp_path).run(loaded_of(work.run))
    wait_until(lambda: work.contexts)

    loop.stop()

    assert work.ended


def test_the_background_of_a_webhook_runs_too(running):
    """It starts and ends as a function of `@background` does."""
    work = Work()

    @webhook("/webhooks/kg", background=work.run)
    async def receive(request):
        return WebhookAnswer(204)

    found = receive.__sidecypher_webhook__
    running.run(Loaded(Registry([]), webhooks={found.name: found}))
    wait_until(lambda: work.contexts)

    running.run(Loaded(Registry([])))

    wait_until(lambda: work.ended)


def test_what_has_failed_starts_again(running, monkeypatch):
    """After each error it is started once more; what has returned is not."""
    monkeypatch.setattr(backgrounds, "FIRST_PAUSE", 0.01)
    work, times = Work(), {"failing": 0, "returning": 0}

    async def fail(context):
        times["failing"] += 1
        if times["failing"] < 4:
            raise ValueError
        await work.run(context)

    async def return_at_once(context):
        times["returning"] += 1

    running.run(loaded_of(fail, return_at_once))
    wait_until(lambda: work.contexts)

    assert times == {"failing": 4, "returning": 1}


def test_a_failure_is_logged_without_its_text(running, monkeypatch):
    """The line has the name and the type, and other functions go on; a cancelled one has none."""
    monkeypatch.setattr(backgrounds, "FIRST_PAUSE", 60.0)
    work = Work()

    async def fail(context):
        raise ValueError("a secret")

    with structlog.testing.capture_logs() as lines:
        running.run(loaded_of(fail, work.run))
        wait_until(lambda: lines and work.contexts)
        running.run(Loaded(Registry([])))
        wait_until(lambda: work.ended)

    assert lines == [
        {"event": "background failed", "log_level": "error", "name": "kg.n0", "type": "ValueError"}
    ]


def test_background_functions_are_found_by_the_loader(tmp_path):
    """They belong to modules as procedures do; a reload replaces what has changed."""
    write(tmp_path, "a.py", BACKGROUND.format(text="first"))
    before = load([tmp_path])
    assert own(before) == ["kg.work"]
    unchanged = load([tmp_path], before)
    assert unchanged.backgrounds["kg.work"] is before.backgrounds["kg.work"]

    write(tmp_path, "a.py", BACKGROUND.format(text="second"))
    after = load([tmp_path], before)

    assert after.backgrounds["kg.work"] is not before.backgrounds["kg.work"]
    assert asyncio.run(after.backgrounds["kg.work"].function(None)) == "second"


def test_two_background_functions_of_one_name_are_refused(tmp_path):
    """The second module is left out."""
    write(tmp_path, "a.py", BACKGROUND)
    write(tmp_path, "b.py", BACKGROUND)

    [failure] = load([tmp_path]).failures

    assert failure.reason == "another background (a.py:4) already has the name `kg.work`."


def test_a_background_function_that_no_module_offers_is_reported(tmp_path):
    """Its name is among what was left out."""
    inner = "\n".join(f"    {line}" for line in BACKGROUND.splitlines())
    write(tmp_path, "own.py", f"def make():\n{inner}\nmake()\n")

    assert list(load([tmp_path]).left_out) == ["kg.work"]


@pytest.mark.parametrize("name", ["", "work", "kg.Work", "/webhooks/kg", 7])
def test_a_name_is_camel_case_words_with_dots(name):
    """Anything else is refused, also the function of a decorator without parentheses."""
    with pytest.raises(SignatureError, match="`@background` was given a name that is not valid"):
        background(name)


def test_a_background_function_is_an_async_function_of_one_argument():
    """Others are refused at import, with file and line."""

    def plain(context): ...

    async def lonely(): ...

    async def generator(context):
        yield

    for function in (plain, lonely, generator):
        with pytest.raises(
            SignatureError,
            match=r"background function `kg.work` \(test_backgrounds.py:\d+\) is not an async",
        ) as caught:
            background("kg.work")(function)
        assert "async def run(context: SidecarContext)" in caught.value.hint
