"""A real browser: Debian's Chromium, driven by Playwright."""

import os
import shutil
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

_PATIENCE = 20_000
"""Milliseconds to wait for what a page is to show."""

_ARTIFACTS = Path(__file__).parent / ".artifacts"


# Not of the session: as long as Playwright is open, an event loop counts as running on this thread,
# and `asyncio.run` fails in every test of other modules.
@pytest.fixture(scope="module")
def chromium():
    """Chromium; without one on the PATH the tests skip, but not on CI."""
    path = shutil.which("chromium")
    if path is None:
        told = "no `chromium` is on the PATH; Debian's package of that name has one"
        # No CI may pass without having looked at a page.
        assert not os.environ.get("CI"), told
        pytest.skip(f"pages are not tested: {told}")
    # Its sandbox needs a user of its own.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    expect.set_options(timeout=_PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()


class Visit:
    """A page in a browser of its own, and what it did.

    Attributes:
        page: It, as Playwright has it.
        told: Errors and warnings of its console, and exceptions of its scripts.
        asked: Addresses of all its requests.
    """

    def __init__(self, context):
        self.page = context.new_page()
        self.told = []
        self.asked = []
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.told.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def _note(self, message):
        if message.type in {"error", "warning"}:
            self.told.append(message.text)

    def violations(self):
        """What axe-core has against the page, each with the elements it means."""
        found = Axe().run(self.page).response["violations"]
        return [(each["id"], [node["target"] for node in each["nodes"]]) for each in found]


@pytest.fixture
def visit(chromium, request):
    """Open pages, each as a person who has never been there; what the last ones showed is kept."""
    contexts, pages = [], []

    def open_(url, *, hurried=False, **options):
        contexts.append(chromium.new_context(**options))
        contexts[-1].set_default_timeout(_PATIENCE)
        if hurried:
            # Its time can be made to pass.
            contexts[-1].clock.install()
        made = Visit(contexts[-1])
        pages.append(made.page)
        made.page.goto(url)
        return made

    yield open_
    for number, page in enumerate(pages):
        # Answers that are under way want no page any more.
        page.unroute_all(behavior="ignoreErrors")
        _keep(page, f"{request.node.name}-{number}")
    for context in contexts:
        context.close()


def _keep(page, name):
    """Save a picture of the page in the folder `SIDECYPHER_TEST_ARTIFACTS` or here."""
    folder = Path(os.environ.get("SIDECYPHER_TEST_ARTIFACTS") or _ARTIFACTS)
    folder.mkdir(parents=True, exist_ok=True)
    safe = "".join(each if each.isalnum() else "-" for each in name)
    page.screenshot(path=folder / f"{safe}.png")
