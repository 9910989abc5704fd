import hashlib
import logging
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from sidecypher.runtime.download import Retry, fetch
from sidecypher.runtime.errors import CorruptJar, DownloadFailed
from sidecypher.runtime.lockfile import Jar, Lock

AT_ONCE = Retry(attempts=3, first_delay=0)
CONTENT = {f"g.h:part{number}:1.{number}": bytes([number]) * 300_000 for number in range(5)}


def jar(artifact, content):
    return Jar(artifact, "lib", hashlib.sha256(content).hexdigest(), len(content))


LOCK = Lock(
    lane="test",
    neo4j="1",
    main_class="Main",
    java=(17,),
    flags=(),
    settings={},
    jars=tuple(jar(*entry) for entry in CONTENT.items()),
)
FIRST = LOCK.jars[1]
FIRST_BYTES = CONTENT[FIRST.artifact]


class Mirror(ThreadingHTTPServer):
    """A Maven repository that can be told to misbehave."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {f"/maven/{jar.path}": CONTENT[jar.artifact] for jar in LOCK.jars}
        self.requests = []
        self.cuts = {}  # path -> list of numbers of bytes after which an answer is cut
        self.statuses = {}  # path -> list of statuses to answer with
        self.ignores_range = False

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/maven"

    def path_of(self, wanted):
        return f"/maven/{wanted.path}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        mirror = self.server
        wanted = self.headers.get("Range")
        mirror.requests.append((self.path, wanted, self.headers.get("Authorization")))
        statuses = mirror.statuses.get(self.path)
        if statuses:
            self.send_error(statuses.pop(0))
            return
        if self.path not in mirror.files:
            self.send_error(404)
            return
        content = mirror.files[self.path]
        start = int(re.findall(r"\d+", wanted)[0]) if wanted and not mirror.ignores_range else 0
        if start and start >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        cuts = mirror.cuts.get(self.path)
        self.wfile.write(content[start : start + cuts.pop(0)] if cuts else content[start:])

    def log_message(self, *_):
        return


@pytest.fixture(name="mirror")
def running_mirror():
    with Mirror() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def assert_complete(installation):
    for jar in LOCK.jars:
        assert installation.path(jar).read_bytes() == CONTENT[jar.artifact]
    assert not list(installation.jar_folder.glob("*.part"))


def test_every_jar_arrives_with_its_bytes(tmp_path, mirror):
    """All jars are fetched from below the mirror's path and counted byte for byte."""
    seen = []

    installation = fetch(LOCK, tmp_path, mirror.url, lambda *numbers: seen.append(numbers))

    assert_complete(installation)
    total = sum(jar.size for jar in LOCK.jars)
    assert seen[-1] == (total, total)
    assert sorted(seen) == seen


def test_a_full_cache_asks_nobody(tmp_path, mirror):
    """When every jar is there with its hash, no request is made."""
    fetch(LOCK, tmp_path, mirror.url)
    mirror.requests.clear()

    assert_complete(fetch(LOCK, tmp_path, "http://127.0.0.1:9/nobody"))
    assert mirror.requests == []


def test_a_cut_connection_is_resumed(tmp_path, mirror):
    """What arrived before a connection broke is kept, and only the rest is asked for."""
    mirror.cuts[mirror.path_of(FIRST)] = [100_000]

    assert_complete(fetch(LOCK, tmp_path, mirror.url, retry=AT_ONCE))

    ranges = [wanted for path, wanted, _ in mirror.requests if path == mirror.path_of(FIRST)]
    assert ranges == [None, "bytes=100000-"]


def test_a_later_run_resumes_an_interrupted_one(tmp_path, mirror):
    """A part file that an earlier run left behind is taken up where it ends."""
    jars = tmp_path / "jars"
    jars.mkdir()
    (jars / f"{FIRST.file_name}.part").write_bytes(FIRST_BYTES[:1234])

    assert_complete(fetch(LOCK, tmp_path, mirror.url))
    assert (mirror.path_of(FIRST), "bytes=1234-", None) in mirror.requests


def test_a_mirror_that_ignores_ranges_starts_over(tmp_path, mirror):
    """A whole answer to a request for the rest replaces what was there."""
    mirror.ignores_range = True
    mirror.cuts[mirror.path_of(FIRST)] = [100_000]

    assert_complete(fetch(LOCK, tmp_path, mirror.url, retry=AT_ONCE))


def test_a_part_file_of_other_bytes_is_thrown_away(tmp_path, mirror):
    """A part file whose completed whole has a wrong hash is fetched from the beginning."""
    jars = tmp_path / "jars"
    jars.mkdir()
    (jars / f"{FIRST.file_name}.part").write_bytes(b"x" * 1000)

    assert_complete(fetch(LOCK, tmp_path, mirror.url, retry=AT_ONCE))


def test_a_range_that_cannot_be_served_starts_over(tmp_path, mirror):
    """Status 416 makes the next try ask for the whole jar."""
    jars = tmp_path / "jars"
    jars.mkdir()
    (jars / f"{FIRST.file_name}.part").write_bytes(FIRST_BYTES[:10])
    mirror.statuses[mirror.path_of(FIRST)] = [416]

    assert_complete(fetch(LOCK, tmp_path, mirror.url, retry=AT_ONCE))


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_trouble_is_retried(tmp_path, mirror, status):
    """A mirror that is busy or broken for a moment is asked again."""
    mirror.statuses[mirror.path_of(FIRST)] = [status, status]

    assert_complete(fetch(LOCK, tmp_path, mirror.url, retry=AT_ONCE))


def test_trouble_that_stays_ends_the_download(tmp_path, mirror):
    """The number of tries is bounded, and the error names jar, host and status."""
    mirror.statuses[mirror.path_of(FIRST)] = [503] * 9

    with pytest.raises(DownloadFailed, match=rf"`{FIRST.artifact}` .* 127\.0\.0\.1: .* 503") as no:
        fetch(LOCK, tmp_path, mirror.url, retry=AT_ONCE)

    assert no.value.retryable
    assert len(mirror.statuses[mirror.path_of(FIRST)]) == 6


def test_a_missing_jar_is_not_retried(tmp_path, mirror):
    """Status 404 will not change: one request, and an error that names the jar and the host."""
    del mirror.files[mirror.path_of(FIRST)]

    with pytest.raises(DownloadFailed, match=rf"`{FIRST.artifact}` .* 404") as missing:
        fetch(LOCK, tmp_path, mirror.url, retry=AT_ONCE)

    assert missing.value.details["status"] == 404
    assert [path for path, *_ in mirror.requests].count(mirror.path_of(FIRST)) == 1


def test_wrong_bytes_never_get_a_jars_name(tmp_path, mirror):
    """A mirror with other bytes is refused by hash, and nothing of it stays in the cache."""
    mirror.files[mirror.path_of(FIRST)] = b"x" * FIRST.size

    with pytest.raises(CorruptJar, match="wrong hash"):
        fetch(LOCK, tmp_path, mirror.url, retry=AT_ONCE)

    assert not list((tmp_path / "jars").glob(f"{FIRST.file_name}*"))


def test_too_long_an_answer_is_not_read_to_its_end(tmp_path, mirror):
    """An answer longer than the locked size is cut off and refused."""
    mirror.files[mirror.path_of(FIRST)] = FIRST_BYTES + b"x" * 1_000_000

    with pytest.raises(CorruptJar):
        fetch(LOCK, tmp_path, mirror.url, retry=AT_ONCE)


def test_a_corrupt_jar_in_the_cache_is_reported_and_replaced(tmp_path, mirror, caplog):
    """A jar that changed in the cache is named in one line and fetched again, it alone."""
    installation = fetch(LOCK, tmp_path, mirror.url)
    installation.path(FIRST).write_bytes(b"broken")
    mirror.requests.clear()

    with caplog.at_level(logging.WARNING):
        fetch(LOCK, tmp_path, mirror.url)

    assert_complete(installation)
    assert [path for path, *_ in mirror.requests] == [mirror.path_of(FIRST)]
    lines = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(lines) == 1
    assert FIRST.artifact in lines[0]


def test_credentials_reach_the_mirror_but_no_text(tmp_path, mirror, caplog):
    """User name and password of a mirror are sent to it and never shown."""
    del mirror.files[mirror.path_of(FIRST)]
    url = mirror.url.replace("http://", "http://robin:s3cret@")

    with caplog.at_level(logging.DEBUG), pytest.raises(DownloadFailed) as failed:
        fetch(LOCK, tmp_path, url, retry=AT_ONCE)

    assert all(authorization.startswith("Basic ") for *_, authorization in mirror.requests)
    assert "s3cret" not in f"{failed.value}{failed.value.hint}{failed.value.details}{caplog.text}"


def test_nobody_at_the_mirrors_address_is_said(tmp_path):
    """A refused connection is an error with jar and host after the bounded tries."""
    with pytest.raises(DownloadFailed, match=r"cannot be fetched from 127\.0\.0\.1"):
        fetch(LOCK, tmp_path, "http://127.0.0.1:9/maven", retry=AT_ONCE)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HTTPS_PROXY", "socks5://ann:hunter2@127.0.0.1:1"),
        ("HTTPS_PROXY", "hunter2://127.0.0.1:1"),
        ("SSL_CERT_FILE", "/hunter2"),
        ("SSL_CERT_FILE", __file__),
    ],
)
def test_a_proxy_or_certificate_that_cannot_be_used_is_said(tmp_path, monkeypatch, variable, value):
    """The variables that the client reads are named, and their values stay untold."""
    monkeypatch.setenv(variable, value)

    with pytest.raises(DownloadFailed, match="proxy or the certificates") as failed:
        fetch(LOCK, tmp_path, mirror="https://mirror.example")

    assert variable in failed.value.hint
    assert "hunter2" not in str(failed.value)


@pytest.mark.parametrize("mirror", ["", "maven", "ftp://host/maven", "http://", "http://a:b:c"])
def test_a_mirror_must_be_a_web_address(tmp_path, mirror):
    """What is not a http or https address is refused before any request."""
    with pytest.raises(DownloadFailed, match="not an http or https address"):
        fetch(LOCK, tmp_path, mirror)


def test_a_cache_that_cannot_be_written_is_said(tmp_path):
    """When the cache is not a folder, the error says which setting to change and shows no path."""
    (tmp_path / "cache").write_text("a file")

    with pytest.raises(DownloadFailed, match="cache cannot be used") as failed:
        fetch(LOCK, tmp_path / "cache", "http://127.0.0.1:9/maven")

    assert "SIDECYPHER_CACHE_DIR" in failed.value.hint
    assert str(tmp_path) not in str(failed.value)


def test_two_at_once_fetch_each_jar_once(tmp_path, mirror):
    """The second of two downloads into one cache waits and finds everything there."""
    with ThreadPoolExecutor(2) as threads:
        for done in [threads.submit(fetch, LOCK, tmp_path, mirror.url) for _ in range(2)]:
            assert_complete(done.result())

    assert len(mirror.requests) == len(LOCK.jars)
