"""Download the jars of a lock file into the cache: parallel, resumable, verified.

A jar gets its own name in the cache only after its hash was verified. An unfinished download is
called `.part`, and the next run resumes it.
"""

import hashlib
import logging
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from threading import Lock as Mutex

import httpx

from sidecypher.host.locks import file_lock
from sidecypher.runtime.errors import CorruptJar, DownloadFailed, RuntimeFailure
from sidecypher.runtime.installation import Installation
from sidecypher.runtime.lockfile import Jar, Lock

MAVEN_CENTRAL = "https://repo.maven.apache.org/maven2"

_THREADS = 8
_TIMEOUT = httpx.Timeout(connect=10, read=15, write=10, pool=None)
_logger = logging.getLogger(__name__)

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Retry:
    """Number of attempts for a jar, and the delays between them.

    Attributes:
        attempts: Attempts for one jar, the first one included.
        first_delay: Seconds before the second attempt; doubled before each further one.
    """

    attempts: int = 5
    first_delay: float = 0.5

    def delay(self, failures: int) -> float:
        """Return the seconds to wait after so many failures."""
        return self.first_delay * 2.0 ** (failures - 1)


def fetch(
    lock: Lock,
    cache_dir: Path,
    mirror: str = MAVEN_CENTRAL,
    progress: Progress | None = None,
    *,
    retry: Retry | None = None,
) -> Installation:
    """Make sure that every jar of a lock file is in the cache, with the right hash.

    Every jar in the cache is hashed at each call (all 140 MB of the LTS lane take about 0.1 s).
    Several processes may call this at once on one cache: the second waits for the first.

    Args:
        lock: The jars.
        cache_dir: Folder of the cache; made when it is missing.
        mirror: Root of a Maven repository; user name and password in it are used, never shown.
        progress: Called with the bytes received and the bytes expected; from several threads, one
            at a time. The first number decreases if a download has to start again.
        retry: Attempts and delays; the default waits at most 7.5 s for one jar.

    Raises:
        DownloadFailed: If a jar cannot be fetched, or the cache cannot be written.
        CorruptJar: If the mirror repeatedly sends other bytes than the lock file names.

    Example:
        >>> installation = fetch(load_lock("lts"), Path("cache"))  # doctest: +SKIP
        >>> installation.path(installation.lock.jars[0]).is_file()  # doctest: +SKIP
        True
    """
    installation = Installation(lock, cache_dir.absolute())
    try:
        installation.jar_folder.mkdir(parents=True, exist_ok=True)
        if _missing(installation):
            with file_lock(installation.jar_folder / ".lock", seconds=math.inf):
                _fetch_missing(installation, mirror, progress, retry or Retry())
    except OSError as error:
        raise DownloadFailed(
            f"The jar cache cannot be used: {error.strerror or type(error).__name__}",
            hint="Make room or set SIDECYPHER_CACHE_DIR to a folder that you may write to.",
        ) from error
    return installation


def _missing(installation: Installation) -> list[Jar]:
    jars = installation.lock.jars
    with ThreadPoolExecutor(_THREADS) as threads:
        checks = threads.map(_is_valid, jars, map(installation.path, jars))
        return [jar for jar, good in zip(jars, checks, strict=True) if not good]


def _is_valid(jar: Jar, path: Path) -> bool:
    return path.is_file() and _sha256(path) == jar.sha256


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fetch_missing(
    installation: Installation, mirror: str, progress: Progress | None, retry: Retry
) -> None:
    missing = _missing(installation)
    for jar in missing:
        if installation.path(jar).exists():
            _logger.warning("`%s` in the cache has a wrong hash: fetching it again.", jar.artifact)
    counter = _Counter(sum(jar.size for jar in missing), progress)
    with _client(mirror) as client, ThreadPoolExecutor(_THREADS) as threads:
        fetcher = _Fetcher(client, retry, counter)
        try:
            tasks = [
                threads.submit(fetcher.fetch, jar, installation.path(jar))
                for jar in sorted(missing, key=lambda jar: -jar.size)
            ]
            for task in as_completed(tasks):
                task.result()
        finally:
            # Without this an error, or Ctrl-C, would wait for every other jar.
            fetcher.stopped.set()
            threads.shutdown(cancel_futures=True)


@contextmanager
def _client(mirror: str) -> Iterator[httpx.Client]:
    try:
        url = httpx.URL(mirror.rstrip("/") + "/")
    except httpx.InvalidURL:
        url = httpx.URL("")
    if url.scheme not in {"http", "https"} or not url.host:
        raise DownloadFailed(
            "The mirror is not an http or https address",
            hint=f"Give the root of a Maven repository, such as {MAVEN_CENTRAL}.",
        )
    try:
        client = httpx.Client(
            # Without user name and password in the address, no log of the client can show them.
            base_url=url.copy_with(username=None, password=None),
            auth=(url.username, url.password) if url.username else None,
            timeout=_TIMEOUT,
            follow_redirects=True,
            headers={"Accept-Encoding": "identity"},
            limits=httpx.Limits(max_connections=_THREADS),
        )
    except (ImportError, OSError, ValueError):
        raise DownloadFailed(
            "Nothing can be fetched: the proxy or the certificates cannot be used",
            hint="Correct HTTPS_PROXY, HTTP_PROXY and ALL_PROXY, which can name an http or https "
            "proxy only, and SSL_CERT_FILE.",
        ) from None
    with client:
        yield client


class _Counter:
    """Sum of the downloaded bytes of all jars, over all threads."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._total = total
        self._progress = progress
        self._done: dict[Jar, int] = {}
        self._mutex = Mutex()

    def at(self, jar: Jar, position: int) -> None:
        with self._mutex:
            self._done[jar] = position
            if self._progress is not None:
                self._progress(sum(self._done.values()), self._total)


class _Unfinished(Exception):  # control flow, never seen outside
    """An attempt that failed; another one may succeed."""


@dataclass(frozen=True)
class _Fetcher:
    client: httpx.Client
    retry: Retry
    counter: _Counter
    stopped: Event = field(default_factory=Event)

    def fetch(self, jar: Jar, target: Path) -> None:
        part = target.with_name(target.name + ".part")
        failure: RuntimeFailure | None = None
        for failures in range(self.retry.attempts):
            if failures and self.stopped.wait(self.retry.delay(failures)):
                return
            try:
                self._download(jar, part)
                self._accept(jar, part, target)
            except (httpx.RequestError, _Unfinished) as error:
                failure = self._failure(jar, str(error) or type(error).__name__)
            except CorruptJar as error:
                failure = error
            else:
                return
        if failure is not None and not self.stopped.is_set():
            raise failure

    def _download(self, jar: Jar, part: Path) -> None:
        """Extend the part file by one response of the mirror."""
        start = part.stat().st_size if part.is_file() else 0
        if start >= jar.size:
            return
        headers = {"Range": f"bytes={start}-"} if start else {}
        with self.client.stream("GET", jar.path, headers=headers) as response:
            self._check(jar, response, part)
            resumed = response.status_code == httpx.codes.PARTIAL_CONTENT
            self._receive(jar, response, part, start if resumed else 0)

    def _check(self, jar: Jar, response: httpx.Response, part: Path) -> None:
        status = response.status_code
        if status == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
            part.unlink()
            raise _Unfinished(f"it answers {status}")
        if status == httpx.codes.TOO_MANY_REQUESTS or response.is_server_error:
            raise _Unfinished(f"it answers {status}")
        if status not in {httpx.codes.OK, httpx.codes.PARTIAL_CONTENT}:
            raise self._failure(jar, f"it answers {status}", status=status)

    def _receive(self, jar: Jar, response: httpx.Response, part: Path, start: int) -> None:
        position = start
        with part.open("ab" if start else "wb") as file:
            for chunk in response.iter_raw():
                position += file.write(chunk)
                self.counter.at(jar, position)
                if self.stopped.is_set() or position > jar.size:
                    return

    def _accept(self, jar: Jar, part: Path, target: Path) -> None:
        if part.stat().st_size < jar.size:
            raise _Unfinished("the answer was cut short")
        if _sha256(part) != jar.sha256:
            part.unlink()
            host = self.client.base_url.host
            raise CorruptJar(
                f"`{jar.artifact}` from {host} has a wrong hash",
                details={"artifact": jar.artifact, "mirror": host},
            )
        part.replace(target)
        self.counter.at(jar, jar.size)

    def _failure(self, jar: Jar, reason: str, *, status: int | None = None) -> DownloadFailed:
        host = self.client.base_url.host
        return DownloadFailed(
            f"`{jar.artifact}` cannot be fetched from {host}: {reason}",
            hint="Check the network and the mirror, then try again; it goes on where it stopped.",
            retryable=status is None,
            details={"artifact": jar.artifact, "mirror": host, "status": status},
        )
