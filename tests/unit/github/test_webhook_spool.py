"""The file of deliveries that wait for the graph."""

import contextlib
import sqlite3
import stat
import time
from datetime import datetime, timedelta, timezone

import pytest

from sidecypher_procedures.github.errors import WebhooksUnstored
from sidecypher_procedures.github.webhooks import spool as module
from sidecypher_procedures.github.webhooks.queue import Delivery
from sidecypher_procedures.github.webhooks.spool import Spool

AT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=timezone(timedelta(hours=1)))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "home" / "webhooks.sqlite"


@pytest.fixture
def open_spool(path):
    """Open the file as further sidecars do."""
    with contextlib.ExitStack() as opened:
        yield lambda: opened.enter_context(contextlib.closing(Spool(path)))


def delivery(name="a", payload=b"{}"):
    return Delivery(name, "issues", payload, AT)


def test_what_one_sidecar_has_stored_another_one_reads(open_spool):
    """Each field comes back as it was."""
    open_spool().put(delivery(payload=bytes(range(256))))

    assert open_spool().first(30) == delivery(payload=bytes(range(256)))


def test_only_its_owner_can_read_it(open_spool, path):
    """Payloads of private repositories are open to nobody else, nor is what SQLite puts beside."""
    open_spool().put(delivery())

    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}
    assert set(modes.values()) == {0o600}
    assert len(modes) == 3
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_commit_is_on_the_disk(open_spool):
    """SQLite waits for the disk with each delivery: a power cut loses none that was answered."""
    spool = open_spool()
    spool.put(delivery())

    assert spool._opened.execute("PRAGMA synchronous").fetchone() == (2,)
    assert spool._opened.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_one_that_is_put_off_goes_behind_the_others(open_spool):
    """It is not given before it is due, and knows when and how often it failed."""
    spool = open_spool()
    for name in "ab":
        spool.put(delivery(name))

    before = time.time()
    spool.put_off(delivery("a"), 0.001)
    assert spool.first(30).id == "b"
    spool.remove(delivery("b"))
    while (found := spool.first(30)) is None:
        pass

    assert (found.id, found.failures) == ("a", 1)
    assert before <= found.failed_at <= time.time()


def test_a_clock_that_was_set_back_holds_nothing_up(open_spool, monkeypatch):
    """What would be due later than it could have been put off is due."""
    spool = open_spool()
    spool.put(delivery())
    spool.put_off(delivery(), 30)
    now = time.time()

    assert spool.first(30) is None
    monkeypatch.setattr(module.time, "time", lambda: now - 3600)

    assert spool.first(30).id == "a"


def test_a_full_file_takes_no_more_until_there_is_room(open_spool, monkeypatch):
    """Its size is bounded; what was stored stays."""
    monkeypatch.setattr(module, "MOST_BYTES", 1_000_000)
    spool = open_spool()
    spool.put(delivery("large", bytes(900_000)))

    with pytest.raises(WebhooksUnstored, match="database or disk is full") as raised:
        spool.put(delivery("more", bytes(200_000)))
    assert raised.value.retryable
    spool.remove(delivery("large"))
    spool.put(delivery("more", bytes(200_000)))

    assert spool.first(30).id == "more"


@pytest.mark.parametrize("content", [b"no database" * 1000, b"SQLite format 3\0" + bytes(5000)])
def test_a_file_that_is_none_is_an_error(open_spool, path, content):
    """It is neither overwritten nor passed over in silence, and its path is not told."""
    path.parent.mkdir()
    path.write_bytes(content)

    with pytest.raises(
        WebhooksUnstored, match=r"^Deliveries cannot be stored in `webhooks.sqlite`"
    ):
        open_spool().put(delivery())

    assert path.read_bytes() == content


def test_a_newer_file_is_an_error(open_spool, path):
    """What a later version has stored is left to that version."""
    open_spool().put(delivery())
    with contextlib.closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA user_version = 3")

    with pytest.raises(WebhooksUnstored, match="a newer version of sidecypher has written it"):
        open_spool().put(delivery("b"))


def test_a_home_that_is_a_file_is_an_error(open_spool, path):
    """What the operating system says is told."""
    path.parent.write_bytes(b"")

    with pytest.raises(WebhooksUnstored, match=r"`webhooks.sqlite`: (File exists|Not a directory)"):
        open_spool().put(delivery())


def test_a_file_that_another_one_holds_is_an_error_in_time(open_spool, path, monkeypatch):
    """Nobody waits for it for longer than GitHub does for the answer."""
    monkeypatch.setattr(module, "LOCK_SECONDS", 0.01)
    spool = open_spool()
    spool.put(delivery())
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        with pytest.raises(WebhooksUnstored, match="database is locked"):
            spool.put(delivery("b"))

    spool.put(delivery("b"))
