"""Write docs/console.png: the overview of a real sidecar, with a sample of load in its history.

It needs Chromium on the PATH. The sidecar and its page are real; the load is a sample, since an
hour of calls would take an hour. It is drawn at random, always the same.

Example:
    >>> from tools.console_picture import PAGE
    >>> PAGE.name
    'console.png'
"""

import math
import os
import random
import shutil
import tempfile
from pathlib import Path
from typing import Final

from playwright.sync_api import sync_playwright

from sidecypher.app import Sidecar
from sidecypher.calls.dispatcher import Session
from sidecypher.host.rendezvous import running_sidecars
from sidecypher.host.settings import load_settings
from sidecypher.protocol.envelope import VERSION, CachedCalls, FailuresRequest, Hello
from sidecypher.sdk.call import no_transaction
from sidecypher.telemetry.calls import Telemetry, configure_logging
from sidecypher.telemetry.history import PERIOD_SECONDS, History

PAGE: Final = Path(__file__).parents[1] / "docs/console.png"
"""The picture that the pages show."""

_SIZE: Final = {"width": 1180, "height": 830}
_PERIODS: Final = 95
_LOAD: Final = (
    # Name, calls per second, median of seconds, share of errors.
    ("github.getIssue", 24.0, 0.0018, 0.001),
    ("runs.append", 14.0, 0.004, 0.0),
    ("code.search", 9.0, 0.03, 0.0),
    ("rules.context", 6.0, 0.012, 0.0),
    ("session.input", 2.5, 0.12, 0.004),
    ("github.mergeIssue", 1.5, 0.25, 0.01),
    ("algo.pagerank", 0.3, 1.4, 0.0),
)
_TROUBLE: Final = range(62, 68)
"""Periods in which GitHub fails."""


class _Clock:
    """A clock that is set."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def fill(telemetry: Telemetry) -> None:
    """Fill the history of a sidecar with a sample of load."""
    clock = _Clock()
    telemetry.history = History(telemetry.calls, clock)  # type: ignore[misc]
    chance = random.Random(1)  # noqa: S311 - a picture needs no secrets
    for period in range(_PERIODS):
        tide = 0.75 + 0.35 * math.sin(period / 15) + 0.12 * chance.random()
        for name, rate, median, errors in _LOAD:
            is_trouble = name.startswith("github.") and period in _TROUBLE
            series = telemetry.calls.series(name)
            for _ in range(round(rate * PERIOD_SECONDS * tide * chance.uniform(0.85, 1.15))):
                outcome = "SC-201" if chance.random() < errors + 0.05 * is_trouble else "ok"
                with series.lock:
                    series.end(outcome, median * chance.lognormvariate(0, 0.6))
        clock.seconds += PERIOD_SECONDS
        telemetry.history.sample()
    cached = [CachedCalls("github.getIssue", 81_204, 12, 3_410, 512, 934_000)]
    telemetry.plugin_reports.update(fill, "5f3a9c1e", FailuresRequest([], cached))


def draw(page: Path, scheme: str = "light") -> None:
    """Write the picture to a file, in a colour scheme."""
    configure_logging("ERROR", "console")
    with tempfile.TemporaryDirectory() as home:
        sidecar = Sidecar(load_settings({"home": home, "log_level": "ERROR"}, {}))
        fill(sidecar._telemetry)  # noqa: SLF001
        hello = Hello(VERSION, "5f3a9c1e", "control", "")
        sidecar._dispatcher.hello(hello, Session(no_transaction))  # noqa: SLF001
        sidecar.start()
        [own] = running_sidecars(Path(home) / "run")
        try:
            _photograph(f"http://127.0.0.1:{own.http}/", page, scheme)
        finally:
            sidecar.stop()


def _photograph(url: str, page: Path, scheme: str) -> None:
    # Its sandbox needs a user of its own.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=arguments
        )
        context = browser.new_context(color_scheme=scheme, viewport=_SIZE)  # type: ignore[arg-type]
        tab = context.new_page()
        tab.goto(url)
        tab.screenshot(path=page)
        browser.close()


if __name__ == "__main__":
    draw(PAGE)
