"""The embedded Neo4j: its settings, password, command line and readiness."""

import hashlib
import http.client
import os
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sidecypher.host.address import USER, Address, Ports, embedded_address
from sidecypher.host.credentials import load_credentials, write_private
from sidecypher.host.settings import LOOPBACK, PLUGIN_VARIABLES, read_password
from sidecypher.runtime.errors import ServerFailed
from sidecypher.runtime.installation import Installation
from sidecypher.runtime.java import Java
from sidecypher.runtime.process.spec import ProcessSpec

_JVM_FLAGS = (
    "-Xms256m",
    "-Xmx512m",
    "-XX:+UseG1GC",
    # After a failed allocation, a server is in an unknown state; its supervisor starts a new one.
    "-XX:+ExitOnOutOfMemoryError",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--enable-native-access=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-XX:-CreateCoredumpOnCrash",
    "-Dlog4j2.disable.jmx=true",
    "-Dfile.encoding=UTF-8",
    "-Dapoc.trigger.enabled=true",
    "-Dapoc.trigger.refresh=500",
)
_SHORT_LIVED = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m")
"""Flags of a JVM that runs for seconds: optimizing its code would cost half of its time.

The first flag alone leaves 48 MB for compiled code, which Neo4j fills in a minute of many queries.
"""
_PASSED_ON = frozenset(
    {"HOME", "JAVA_TOOL_OPTIONS", "LANG", "LC_ALL", "LC_CTYPE", "PATH", "TMPDIR", "TZ", "USER"}
)
OWN_SETTINGS = "own.conf"
"""File next to `neo4j.conf` with settings of the user, which override those of sidecypher."""
_CLOSED = {
    "server.http.enabled": "false",
    "dbms.security.allow_csv_import_from_file_urls": "false",
}
_NO_HTTP = "server.http.enabled=false"
_HASH_ROUNDS = 1024
"""Rounds of hashing of a password in `auth.ini`."""
_PROBE_SECONDS = 1.0
_BOLT_HELLO = bytes.fromhex("6060b017 00040405 00000000 00000000 00000000")
"""Bolt's magic number, then the accepted versions: 5.4 down to 5.0."""


@dataclass(frozen=True, slots=True)
class Neo4jServer:
    """One Neo4j in one home; `prepare` writes its files.

    Attributes:
        home: The sidecypher home, absolute, with its graph, logs and password.
        ports: Its ports, on the loopback address only.
        environ: Variables, of which the server receives a few harmless ones and no secrets.
        short_lived: Whether its JVM compiles quickly instead of well.
        closed: Whether it offers Bolt only: no HTTP, and no files for imports.
        unhurried: Whether transactions may take any time, as under a debugger.

    Example:
        >>> server = Neo4jServer(home, installation, java, Ports(7687, 7474))  # doctest: +SKIP
        >>> server.prepare()  # doctest: +SKIP
        >>> Supervisor(home, lambda: [server.process(restart=True)]).run()  # doctest: +SKIP
    """

    home: Path
    installation: Installation
    java: Java
    ports: Ports
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)
    short_lived: bool = False
    closed: bool = False
    unhurried: bool = False

    @property
    def folder(self) -> Path:
        """Neo4j's own home-dir, with `conf`, `data`, `logs` and `plugins`."""
        return self.home / "neo4j"

    @property
    def plugin_folder(self) -> Path:
        """Folder of plugin jars, to be filled before `prepare` or a restart."""
        return self.folder / "plugins"

    @property
    def run_folder(self) -> Path:
        """The run folder, through which server and sidecar find each other."""
        return self.home / "run"

    @property
    def password_file(self) -> Path:
        """File with the password of the user `neo4j`, mode 0600."""
        return self.home / "neo4j-password"

    @property
    def log_file(self) -> Path:
        """Log file of the server's output; details are in `neo4j/logs`."""
        return self.home / "logs" / "neo4j.log"

    @property
    def address(self) -> Address:
        """Address for drivers, with the password.

        Raises:
            OSError: The server was never prepared.
        """
        return embedded_address(self.home, self.ports)

    def prepare(self) -> None:
        """Write the files that the server reads at its start, and at the first start a password.

        Raises:
            ServerFailed: If the home has lost its password, or its graph belongs to another lane.
        """
        for folder in (self.home, self.folder, self.run_folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.chmod(0o700)
        for name in ("conf", "data", "import", "logs", "plugins"):
            (self.folder / name).mkdir(mode=0o700, exist_ok=True)
        self._check_lane()
        self._link_plugins()
        self._link_certificate()
        self._conf_file.write_text(self._settings(), encoding="utf-8")
        self._class_path_file.write_text(f'-cp\n"{self._class_path()}"\n', encoding="utf-8")
        self._set_first_password()

    def process(self, *, restart: bool, hang_seconds: float = 0.0) -> ProcessSpec:
        """Describe the server's process for a supervisor.

        Args:
            restart: Whether it is started again when it ends.
            hang_seconds: Seconds without an answer after which it is killed; 0 disables this.
        """
        return ProcessSpec(
            name="neo4j",
            argv=self._argv(),
            env=self._env(),
            log_file=self.log_file,
            restart=restart,
            ready=self.answers,
            answers=self._is_responsive,
            hang_seconds=hang_seconds,
            stops_last=True,
            # A JVM does not start in a deleted folder.
            folder=self.folder,
        )

    def answers(self, _pid: int = 0) -> bool:
        """Return whether Bolt and HTTP, which starts last, answer; takes at most 2 s."""
        try:
            # Settings of the user can switch it off too.
            has_http = _NO_HTTP not in self._conf_file.read_text(encoding="utf-8").splitlines()
            return self._bolt_answers() and (not has_http or self._http_answers())
        except (OSError, http.client.HTTPException):
            return False

    def _is_responsive(self, _pid: int) -> bool:
        """Return whether Bolt shakes hands, which needs no password; takes at most 2 s."""
        try:
            return self._bolt_answers()
        except OSError:
            return False

    def _bolt_answers(self) -> bool:
        address = (LOOPBACK, self.ports.bolt)
        with socket.create_connection(address, _PROBE_SECONDS) as connection:
            connection.sendall(_BOLT_HELLO)
            version = connection.recv(4)
        return len(version) == 4 and version != bytes(4)  # noqa: PLR2004 - a version is 4 bytes

    def _http_answers(self) -> bool:
        connection = http.client.HTTPConnection(LOOPBACK, self.ports.http, timeout=_PROBE_SECONDS)
        try:
            connection.request("GET", "/")
            return connection.getresponse().status == http.client.OK
        finally:
            connection.close()

    @property
    def _conf_file(self) -> Path:
        return self.folder / "conf" / "neo4j.conf"

    @property
    def _auth_file(self) -> Path:
        """Hash of the first password; the server reads it at its first start."""
        return self.folder / "data" / "dbms" / "auth.ini"

    @property
    def _class_path_file(self) -> Path:
        return self.folder / "conf" / "class-path.args"

    def _argv(self) -> tuple[str, ...]:
        return (
            str(self.java.executable),
            *_JVM_FLAGS,
            *(_SHORT_LIVED if self.short_lived else ()),
            *self._class_archive(),
            # Crash files contain memory; by default the JVM writes them to the current folder.
            f"-XX:ErrorFile={self.log_file.parent / 'neo4j-crash.txt'}",
            *self.installation.lock.flags,
            f"@{self._class_path_file}",
            self.installation.lock.main_class,
            f"--home-dir={self.folder}",
            f"--config-dir={self._conf_file.parent}",
            "--console-mode",
        )

    def _class_archive(self) -> tuple[str, ...]:
        """Return the flags of the archive of classes, unless it is missing or another user's.

        The JVM runs what is in the archive, and nothing verifies it, unlike jars.
        """
        archive = self.installation.class_archive(self.java)
        if not archive.exists() or archive.stat().st_uid != os.geteuid():
            return ()
        # A JVM that the archive does not fit starts without it, and would warn in each start's log.
        return (f"-XX:SharedArchiveFile={archive}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off")

    def _env(self) -> dict[str, str]:
        names = (_PASSED_ON | PLUGIN_VARIABLES) & self.environ.keys()
        passed_on = {name: self.environ[name] for name in names}
        return passed_on | {
            "NEO4J_HOME": str(self.folder),
            "NEO4J_CONF": str(self._conf_file.parent),
            "SIDECYPHER_RUN_DIR": str(self.run_folder),
        }

    def _class_path(self) -> str:
        jars = [*self.installation.jars("lib"), self.plugin_folder / "*"]
        return os.pathsep.join(map(str, jars)).replace("\\", "\\\\").replace('"', '\\"')

    def _own_settings(self) -> dict[str, str]:
        """Return the settings that the user has written for this Neo4j.

        Raises:
            ServerFailed: The file cannot be read, or a line of it is not `name=value`.
        """
        file = self._conf_file.with_name(OWN_SETTINGS)
        try:
            text = file.read_text(encoding="utf-8")
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError):
            raise ServerFailed(
                f"`neo4j/conf/{OWN_SETTINGS}` in the home cannot be read",
                hint="Make it a text in UTF-8 that you may read, or delete it.",
            ) from None
        found = {}
        for number, line in enumerate(map(str.strip, text.splitlines()), start=1):
            name, equals, value = line.partition("=")
            if not line or line.startswith("#"):
                continue
            if not (name.strip() and equals):
                raise ServerFailed(
                    f"Line {number} of `neo4j/conf/{OWN_SETTINGS}` in the home is no setting",
                    hint="Write `name=value`, or a comment that begins with `#`.",
                )
            found[name.strip()] = value.strip()
        return found

    def _settings(self) -> str:
        bolt, http_address = (f"{LOOPBACK}:{port}" for port in (self.ports.bolt, self.ports.http))
        settings = {
            "server.default_listen_address": LOOPBACK,
            "server.bolt.listen_address": bolt,
            "server.bolt.advertised_address": bolt,
            # A process that takes the port lacks the certificate. OPTIONAL, because browsers do
            # not know the certificate.
            "server.bolt.tls_level": "OPTIONAL",
            "dbms.ssl.policy.bolt.enabled": "true",
            "dbms.ssl.policy.bolt.base_directory": "certificates",
            "dbms.ssl.policy.bolt.private_key": "key.pem",
            "dbms.ssl.policy.bolt.public_certificate": "certificate.pem",
            "dbms.ssl.policy.bolt.client_auth": "NONE",
            "server.http.listen_address": http_address,
            "server.http.advertised_address": http_address,
            "server.https.enabled": "false",
            "server.memory.pagecache.size": "64m",
            "dbms.usage_report.enabled": "false",
            "client.allow_telemetry": "false",
            # Without an import folder, `LOAD CSV` reads every file of the account.
            "server.directories.import": "import",
            "dbms.security.procedures.unrestricted": "apoc.*",
            **(_CLOSED if self.closed else {}),
            "db.transaction.timeout": "0s" if self.unhurried else "60s",
            # Half a gigabyte of empty log files would be made for every home otherwise.
            "db.tx_log.preallocate": "false",
            "db.lock.acquisition.timeout": "10s",
            **self.installation.lock.settings,
            **self._own_settings(),
        }
        lines = [f"{name}={value}\n" for name, value in settings.items()]
        return "# Written again at each start.\n" + "".join(lines)

    def _check_lane(self) -> None:
        """Refuse a graph of another lane: an earlier Neo4j cannot read the graph of a later one."""
        file, lane = self.folder / "lane", self.installation.lock.lane
        if file.exists():
            previous = file.read_text(encoding="utf-8").strip()
        else:
            # Homes from before there were two lanes have no such file.
            previous = "lts" if self._auth_file.exists() else lane
        if previous != lane:
            raise ServerFailed(
                f"The graph in this home belongs to the lane `{previous}`, not `{lane}`",
                hint=f"Set `SIDECYPHER_LANE={previous}`, or name another home with `--home`.",
            )
        write_private(file, f"{lane}\n".encode())

    def _link_plugins(self) -> None:
        """Link the plugins of the lane, and remove links from an older lock file."""
        # All links are sidecypher's, even those to another cache; plugins of the user are files.
        for link in self.plugin_folder.iterdir():
            if link.is_symlink():
                link.unlink()
        for jar in self.installation.jars("plugins"):
            (self.plugin_folder / jar.name).symlink_to(jar)

    def _link_certificate(self) -> None:
        """Link the sidecar's key and certificate, which the server uses for Bolt."""
        load_credentials(self.run_folder)
        link = self.folder / "certificates"
        if not link.is_symlink():
            # A path in `neo4j.conf` would have to be escaped, and must not go up by dots.
            link.symlink_to(Path("..", self.run_folder.name))

    def _set_first_password(self) -> None:
        if self._auth_file.exists():
            if not self._has_password:
                raise ServerFailed(
                    "The graph has a password, but `neo4j-password` is not in the home or is empty",
                    hint="Write the password into it, mode 0600, or move the home away.",
                )
            return
        # Neo4j's own command for it would take a second, since it starts a JVM.
        self._write_password()
        password = read_password(self.password_file)
        self._auth_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(self._auth_file, f"{USER}:{_credential(password)}:\n".encode())

    @property
    def _has_password(self) -> bool:
        return self.password_file.exists() and self.password_file.stat().st_size > 0

    def _write_password(self) -> None:
        # An interrupted start may have left an empty file.
        if not self._has_password:
            write_private(self.password_file, secrets.token_hex(16).encode() + b"\n")


def _credential(password: str) -> str:
    """Return a password in the format of `auth.ini`: algorithm, hash, salt and rounds."""
    salt = secrets.token_bytes(32)
    digest = salt + password.encode()
    for _ in range(_HASH_ROUNDS):
        digest = hashlib.sha256(digest).digest()
    return f"SHA-256,{digest.hex()},{salt.hex()},{_HASH_ROUNDS}"
