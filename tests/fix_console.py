"""A sidecar in this process whose console is looked at, with procedures that tests hold up."""

import itertools
import threading
from pathlib import Path

import httpx
import msgspec
import pytest
from fix_waiting import wait_until

from sidecypher.app import Sidecar
from sidecypher.calls.dispatcher import Session
from sidecypher.host.rendezvous import running_sidecars
from sidecypher.host.settings import load_settings
from sidecypher.protocol import envelope
from sidecypher.protocol.envelope import CallRequest, Hello
from sidecypher.sdk.call import no_transaction
from sidecypher.telemetry.history import PERIOD_SECONDS
from sidecypher.transport._messages import Messages

PROCEDURES = Path(__file__).parent / "console"

HOSTILE_MODULE = "<img src=x onerror=alert(1)>.py"
HOSTILE_FAILURE = "</li><script>document.title = 'attacked'</script>"

_ids = itertools.count(1)


class Shown:
    """The sidecar.

    Attributes:
        url: Address of its page.
        token: What opens the calls.
        http: A client of its own.
    """

    def __init__(self, home):
        self.home = home
        hostile = home / "hostile"
        hostile.mkdir()
        (hostile / HOSTILE_MODULE).write_text(f"raise RuntimeError({HOSTILE_FAILURE!r})")
        folders = [PROCEDURES, hostile]
        self.sidecar = Sidecar(load_settings({"home": home, "procedures": folders}, {}))
        self.sidecar.start()
        [told] = running_sidecars(home / "run")
        self.url = f"http://127.0.0.1:{told.http}"
        self.token = (home / "run" / "http-token").read_text().strip()
        self.http = httpx.Client(base_url=self.url, trust_env=False, verify=False)
        self._session = Session(no_transaction)
        self._messages = Messages(self.sidecar._dispatcher)
        self._send("hello", Hello(envelope.VERSION, "tests", "call", ""))
        self.state = self._found("shown.wait").function.__globals__["state"]

    def _found(self, name):
        return self.sidecar.loaded.registry.get(name)

    def _send(self, method, request, session=None):
        return msgspec.json.decode(
            self._messages.answer(method, envelope.write(request), session or self._session)
        )

    def call(self, name, *arguments, user="ann"):
        """Call as a plugin does; return the reply, which may tell an error."""
        entry = self._found(name).entry
        request = CallRequest(
            id=f"shown-{next(_ids)}",
            name=name,
            database="people",
            user=user,
            signature=entry.signature,
            args=list(arguments),
            remaining_ms=60_000,
            mode="READ",
        )
        return self._send("call", request)

    def page_of(self, reply, session=None):
        """Ask for the next page of a call, as its caller or by another session."""
        return self._send("page", envelope.PageRequest(reply["id"], 60_000), session)

    def begin(self, name="shown.wait", **facts):
        """Call in the background; return the thread and where the reply will be."""
        replies = []
        self.state.begun.clear()
        thread = threading.Thread(target=lambda: replies.append(self.call(name, **facts)))
        thread.start()
        assert self.state.begun.wait(10)
        return Begun(thread, replies)

    @property
    def bearer(self):
        return {"Authorization": f"Bearer {self.token}"}

    def calls(self):
        """What `/v1/calls` tells."""
        return self.http.get("/v1/calls", headers=self.bearer).json()

    def end_period(self):
        """Let the period of the charts end that has what was called so far."""
        history = self.sidecar._telemetry.history
        before = history._clock
        history.sample()
        history._clock = lambda: before() + PERIOD_SECONDS
        history.sample()

    def stop(self):
        self.http.close()
        self.sidecar.stop()


class Begun:
    """A call that is under way."""

    def __init__(self, thread, replies):
        self._thread = thread
        self._replies = replies

    def reply(self):
        """Wait for its end."""
        self._thread.join(20)
        return self._replies[0]


@pytest.fixture(scope="module")
def _shown(tmp_path_factory):
    made = Shown(tmp_path_factory.mktemp("home"))
    yield made
    made.stop()


@pytest.fixture
def shown(_shown):
    """The sidecar, with no call under way before and after the test."""
    yield _shown
    _shown.state.go.set()
    wait_until(lambda: not _shown.calls()["running"])
    _shown.state.go.clear()
    _shown.state.is_away = False
    _shown.state.asked = ["first", "second"]
    _shown.state.answers.clear()
