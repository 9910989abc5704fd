"""Settings: flags over `SIDECYPHER_*` variables over a TOML file over `NEO4J_*` over defaults.

A command reads them once at its start and passes them down. A misspelt name is refused, so that a
typing mistake never silently means a default.
"""

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from platformdirs import user_cache_path, user_data_path
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

from sidecypher.errors import SettingsError
from sidecypher.host._urls import problem_of
from sidecypher.host.limits import Limits

PREFIX: Final = "SIDECYPHER_"

LOOPBACK: Final = "127.0.0.1"

PROJECT_FILE: Final = "sidecypher.toml"
"""Settings file of the current folder, read if no other file is named."""

NO_FILE: Final = Path(os.devnull)
"""A settings file that sets nothing; if it is named, no other one is read."""

Origin = Literal["default", "Neo4j's variables", "file", "environment", "option"]
"""Possible origins of a setting; each one overrides those before it."""

NEO4J_VARIABLES: Final = {
    "neo4j_uri": "NEO4J_URI",
    "neo4j_user": "NEO4J_USERNAME",
    "neo4j_password": "NEO4J_PASSWORD",
    "neo4j_database": "NEO4J_DATABASE",
}
"""Settings that Neo4j's own tools read from the environment too, with the names that those use:
https://neo4j.com/docs/operations-manual/5/tools/cypher-shell/"""

PLUGIN_VARIABLES: Final = frozenset(
    f"SIDECYPHER_{name}"
    for name in (
        "RUN_DIR",
        "POOL_SIZE",
        "QUEUE_LIMIT",
        "CONNECT_TIMEOUT_MS",
        "HANDSHAKE_TIMEOUT_MS",
        "GRACE_MS",
        "MAX_LINE_BYTES",
        "NESTED_DEPTH",
        "CIRCUIT_MS",
        "AVAILABILITY",
        "TRACE_CONTEXT",
        "CACHE_BYTES",
        "LEAST_TIMEOUT_MS",
    )
)
"""Variables that the plugin reads in the JVM of Neo4j."""

_NEO4J_NAMES: Final = frozenset(NEO4J_VARIABLES.values())
_LOCAL_NEO4J: Final = "bolt://127.0.0.1:7687"
_NEAR: Final = 0.85
_MISTYPED: Final = 2
"""Least similarity, and largest difference in length, of a misspelt name and the right one."""

_WILDCARDS: Final = ("0.0.0.0", "::")  # noqa: S104 - they are refused
_HOST_AND_PORT: Final = re.compile(r"[^\s/:]+:[1-9]\d{0,4}")
_NEO4J_SCHEMES: Final = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")

Port = Annotated[int, Field(ge=0, le=65535)]


class Settings(BaseModel):
    """All settings with their defaults.

    Attributes:
        home: Folder of all state: graph, logs, run files. Two homes are two installations.
        cache_dir: Folder of downloaded jars, shared by all homes.
        procedures: Folders of an author's own procedures.
        port: Port of the sidecar for the plugin; 0 picks a free one.
        listen: Address `tls://HOST:PORT` for plugins on another machine; without it only this
            machine reaches the sidecar.
        http_port: Port of `/livez`, `/readyz` and `/metrics`; 0 picks a free one.
        http_host: IP address on which HTTP is served besides 127.0.0.1. If other machines reach it,
            all but `/livez`, `/readyz` and webhooks needs the token for HTTP.
        http_token_file: File with the token for HTTP; without it the sidecar makes one.
        sidecars: Number of sidecars that `up` starts.
        bolt_port: Bolt port of the embedded Neo4j; 0 picks a free one and keeps it.
        browser_port: HTTP port of the embedded Neo4j; 0 picks a free one and keeps it.
        maven_url: Mirror to fetch jars from; empty means Maven Central.
        log_level: Least severe level that is logged.
        log_format: `json` or `console`.
        run_dir: Run folder; empty means `run` in the home.
        max_line_bytes: Longest message, either way; the plugin reads the same variable.
        shutdown_seconds: How long running calls may continue when the sidecar stops.
        hang_seconds: How long a sidecar or the embedded Neo4j may hang until it is replaced; with 0
            it is never replaced.
        worker_processes: Processes for `executor="process"` functions; 0 refuses such procedures.
        worker_memory_mb: Memory that a function in a worker process may use, in MiB.
        ray_address: Ray cluster for `executor="ray"` functions: HOST:PORT, or `local` for one on
            this machine that ends with the sidecar; empty refuses such procedures.
        stream_lease_seconds: How long an open stream may wait for the request for its next page.
        stuck_calls_limit: With more stuck calls than this, the sidecar is not ready.
        http_calls: Calls over HTTP that run at once; further ones are refused as busy.
        record_dir: Folder for recordings of failing calls; none are made without it.
        traces: Whether each call makes a span that is sent to a collector.
        lane: Version track of the embedded Neo4j: `lts` or `current`.
        neo4j_uri: Server that commands and metrics query; empty means the embedded one.
        neo4j_user: User at that server.
        neo4j_password: Password at that server; `SIDECYPHER_NEO4J_PASSWORD_FILE` names a file.
        neo4j_database: Database of that server, or of the embedded one; empty means the user's
            default one.
    """

    # The default error text would show the value, and the value may be a secret.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    home: Path = Field(default_factory=lambda: user_data_path("sidecypher"))
    cache_dir: Path = Field(default_factory=lambda: user_cache_path("sidecypher"))
    procedures: tuple[Path, ...] = ()
    port: Port = 0
    listen: str = ""
    http_port: Port = 0
    http_host: str = LOOPBACK
    http_token_file: Path | None = None
    sidecars: Annotated[int, Field(ge=1, le=64)] = 1
    bolt_port: Port = 0
    browser_port: Port = 0
    maven_url: str = ""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    log_format: Literal["json", "console"] = "json"
    run_dir: Path | None = None
    max_line_bytes: Annotated[int, Field(ge=1024, le=2**30)] = Limits.message_bytes
    shutdown_seconds: Annotated[float, Field(ge=0, le=300)] = 5.0
    hang_seconds: Annotated[float, Field(ge=0, le=3600)] = 60.0
    worker_processes: Annotated[int, Field(ge=0, le=256)] = 2
    worker_memory_mb: Annotated[int, Field(ge=64, le=2**20)] = 1024
    ray_address: str = ""
    stream_lease_seconds: Annotated[float, Field(ge=0.1, le=86_400)] = 60.0
    stuck_calls_limit: Annotated[int, Field(ge=0, le=10_000)] = 8
    http_calls: Annotated[int, Field(ge=1, le=1024)] = 16
    record_dir: Path | None = None
    traces: bool = False
    lane: Literal["lts", "current"] = "lts"
    neo4j_uri: str = ""
    # An empty one cannot be passed to a child: an empty variable counts as unset.
    neo4j_user: Annotated[str, Field(min_length=1)] = "neo4j"
    neo4j_password: SecretStr | None = None
    neo4j_database: str = ""

    @field_validator("procedures", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        """Split a comma-separated text, as a variable holds it."""
        if isinstance(value, str):
            return [part.strip() for part in value.split(",") if part.strip()]
        return value

    @field_validator("home", mode="after")
    @classmethod
    def _is_named(cls, value: Path) -> Path:
        """Refuse the path of an empty text, because the home is closed to other users."""
        if value == Path():
            raise ValueError("it is the current folder itself; name another one")
        return value

    @field_validator(
        *("home", "cache_dir", "procedures", "run_dir", "record_dir", "http_token_file"),
        mode="after",
    )
    @classmethod
    def _absolute(cls, value: Any) -> Any:
        if any("\0" in str(path) for path in (value if isinstance(value, tuple) else [value])):
            raise ValueError("a path can have no NUL")
        try:
            if isinstance(value, tuple):
                return tuple(path.expanduser().absolute() for path in value)
            return value and value.expanduser().absolute()
        except RuntimeError:
            raise ValueError("it names the home of an unknown user") from None

    @field_validator("home", "cache_dir", mode="after")
    @classmethod
    def _fits_a_class_path(cls, value: Path) -> Path:
        if not {":", "\n", "\r"}.isdisjoint(str(value)):
            raise ValueError("its path can have no colon and no line break: Java splits it there")
        return value

    @field_validator("procedures", mode="after")
    @classmethod
    def _fit_a_variable(cls, value: tuple[Path, ...]) -> tuple[Path, ...]:
        """Refuse folders that a child process would read differently from its variable."""
        for path in value:
            if "," in str(path) or str(path) != str(path).strip():
                raise ValueError("the path of a folder can have no comma, and no space at its end")
        return value

    @field_validator("neo4j_uri", mode="after")
    @classmethod
    def _is_server(cls, value: str) -> str:
        return _checked(value, problem_of(value, _NEO4J_SCHEMES, is_mirror=False))

    @field_validator("listen", mode="after")
    @classmethod
    def _is_address(cls, value: str) -> str:
        problem = problem_of(value, ("tls",), is_mirror=False)
        if problem is None and urlsplit(value).port is None:
            problem = "it names no port"
        if problem is None and urlsplit(value).hostname in _WILDCARDS:
            problem = "it must name the address by which Neo4j reaches this machine"
        return _checked(value, problem)

    @field_validator("http_host", mode="after")
    @classmethod
    def _is_ip_address(cls, value: str) -> str:
        try:
            return str(ip_address(value))
        except ValueError:
            raise ValueError("it is not an IP address") from None

    @field_validator("ray_address", mode="after")
    @classmethod
    def _is_cluster(cls, value: str) -> str:
        if value and value != "local" and not _HOST_AND_PORT.fullmatch(value):
            raise ValueError("it is neither `local` nor HOST:PORT")
        return value

    @field_validator("maven_url", mode="after")
    @classmethod
    def _is_mirror(cls, value: str) -> str:
        return _checked(value, problem_of(value, ("http", "https"), is_mirror=True))

    @property
    def run_folder(self) -> Path:
        """Folder of `sidecar.json` and credentials."""
        return self.run_dir or self.home / "run"

    @property
    def listen_address(self) -> tuple[str, int] | None:
        """Host and port for plugins on another machine."""
        parts = urlsplit(self.listen)
        return (parts.hostname, parts.port) if parts.hostname and parts.port else None

    @property
    def log_dir(self) -> Path:
        """Folder of the logs."""
        return self.home / "logs"

    def environment(self) -> dict[str, str]:
        """Return the `SIDECYPHER_*` variables that pass these settings to a child process.

        The child reads no settings file, which may have changed by then. The password is left out,
        and so is the address of the mirror, which may contain another: a child fetches nothing.
        """
        # Pass explicit values even if they equal a default: they may override a variable.
        values = {
            name: value
            for name, value in self.model_dump(exclude_unset=True).items()
            if name not in ("neo4j_password", "maven_url") and value is not None
        }
        values |= {"home": self.home, "cache_dir": self.cache_dir, "config": NO_FILE}
        return {PREFIX + name.upper(): _text(value) for name, value in values.items()}


def load_settings(
    flags: Mapping[str, Any],
    environ: Mapping[str, str] = os.environ,
    config: Path | None = None,
) -> Settings:
    """Return the settings of this process.

    Args:
        flags: Values of command-line options; None means not set.
        environ: Environment variables; an empty one counts as not set.
        config: TOML file; without it `SIDECYPHER_CONFIG`, else `sidecypher.toml` if it exists.

    Raises:
        SettingsError: A name is unknown or a value is not valid; it shows neither value nor path.

    Example:
        >>> load_settings({"port": 7000}, {}).port
        7000
    """
    return read_settings(flags, environ, config)[0]


def read_settings(
    flags: Mapping[str, Any],
    environ: Mapping[str, str] = os.environ,
    config: Path | None = None,
) -> tuple[Settings, dict[str, Origin]]:
    """Return the settings of this process, and the origin of each.

    Raises:
        SettingsError: As `load_settings`.

    Example:
        >>> read_settings({"port": 7000}, {})[1]["port"]
        'option'
    """
    merged: dict[str, Any] = {}
    origins: dict[str, Origin] = dict.fromkeys(Settings.model_fields, "default")
    for origin, values in _layers(flags, environ, config).items():
        if "neo4j_uri" in values and merged.get("neo4j_uri"):
            # They belong to the other address, also if an empty one opts out of it, and a password
            # must not reach this one.
            for name in NEO4J_VARIABLES:
                merged.pop(name, None)
                origins[name] = "default"
        merged |= values
        origins |= dict.fromkeys(values, origin)
    return _validated(merged, origins), origins


def neo4j_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the Neo4j that environment variables name, for a client outside of a sidecar.

    `SIDECYPHER_NEO4J_*` variables override `NEO4J_*` variables; no file is read.

    Returns:
        `uri` (by default Bolt on this machine, port 7687), `user`, and if they are set `password`
        and `database`.

    Raises:
        SidecypherError: SC-601 if a value cannot be used, or a password file cannot be read.

    Example:
        >>> neo4j_environment({"NEO4J_URI": "neo4j://graph.example", "NEO4J_USERNAME": "ann"})
        {'uri': 'neo4j://graph.example', 'user': 'ann'}
    """
    variables = {*NEO4J_VARIABLES.values(), *(PREFIX + name.upper() for name in NEO4J_VARIABLES)}
    variables.add(PREFIX + "NEO4J_PASSWORD_FILE")
    given = {name: value for name, value in environ.items() if name in variables}
    if not any(given.get(name) for name in ("NEO4J_URI", PREFIX + "NEO4J_URI")):
        given["NEO4J_URI"] = _LOCAL_NEO4J
    settings = load_settings({}, given, NO_FILE)
    password = settings.neo4j_password
    found = {
        "uri": settings.neo4j_uri,
        "user": settings.neo4j_user,
        "password": password.get_secret_value() if password else "",
        "database": settings.neo4j_database,
    }
    return {name: value for name, value in found.items() if value}


def without_neo4j_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without `NEO4J_*`, for commands that start their own Neo4j.

    Example:
        >>> without_neo4j_variables({"NEO4J_URI": "neo4j://elsewhere", "PATH": "/bin"})
        {'PATH': '/bin'}
    """
    return {name: value for name, value in environ.items() if name not in _NEO4J_NAMES}


def load_own_settings(flags: Mapping[str, Any], config: Path | None = None) -> Settings:
    """Return the settings for commands that start, stop or show their own Neo4j.

    Raises:
        SettingsError: As `load_settings`.

    Example:
        >>> load_own_settings({"lane": "current"}, NO_FILE).lane
        'current'
    """
    return load_settings(flags, without_neo4j_variables(os.environ), config)


def read_password(file: Path) -> str:
    """Return the password in a file: its content without a newline at its end.

    Raises:
        OSError: The file cannot be read.
        UnicodeDecodeError: It is not text in UTF-8.
    """
    return re.sub(r"\r?\n\Z", "", file.read_bytes().decode())


def _validated(values: Mapping[str, Any], origins: Mapping[str, Origin]) -> Settings:
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name, reason = str(first["loc"][0]), first["msg"].removeprefix("Value error, ")
        variable = PREFIX + name.upper()
        hint = f"Correct it: its option, the variable {variable} or the TOML file."
        if origins[name] == "Neo4j's variables":
            variable = NEO4J_VARIABLES[name]
            hint = f"Correct the variable {variable}."
        raise SettingsError(
            f"The setting `{name}` cannot be used: {reason[:1].lower()}{reason[1:]}",
            hint=hint,
            details={"variable": variable},
        ) from None


def _layers(
    flags: Mapping[str, Any], environ: Mapping[str, str], config: Path | None
) -> dict[Origin, dict[str, Any]]:
    """Return the values of each origin, the weakest first."""
    file = config or _settings_file(environ)
    layers: dict[Origin, dict[str, Any]] = {
        "Neo4j's variables": {
            name: environ[variable]
            for name, variable in NEO4J_VARIABLES.items()
            if environ.get(variable, "").strip()
        },
        "file": _from_file(file) if file else {},
        "environment": _from_environment(environ),
        "option": {name: value for name, value in flags.items() if value is not None},
    }
    if not any(values.get("neo4j_uri") for values in layers.values()):
        # Without an address they belong to some other server than the embedded one.
        layers["Neo4j's variables"] = {}
    return layers


def _settings_file(environ: Mapping[str, str]) -> Path | None:
    named = environ.get(PREFIX + "CONFIG", "").strip()
    if named:
        return _file(PREFIX + "CONFIG", named)
    project = Path(PROJECT_FILE)
    return project if project.is_file() else None


def _suggestion(name: str, known: Iterable[str]) -> str:
    """Return a hint with the most similar known name."""
    nearest = get_close_matches(name, known, n=1)
    hint = f"Did you mean `{nearest[0]}`? " if nearest else ""
    return f"{hint}`sidecypher config` lists all of them."


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for variable, value in environ.items():
        if not variable.startswith(PREFIX):
            continue
        name = variable.removeprefix(PREFIX).lower()
        plugin_only = variable in PLUGIN_VARIABLES and name not in Settings.model_fields
        if plugin_only or variable == PREFIX + "CONFIG":
            continue
        if name not in Settings.model_fields and name != "neo4j_password_file":
            if not _is_misspelt(name):
                continue
            raise SettingsError(
                f"There is no setting `{variable}`",
                hint=_suggestion(variable, _known_variables()),
                details={"variable": variable},
            )
        # As in the plugin: shells and Compose pass an unset variable as an empty one.
        if not value.strip():
            continue
        if name == "neo4j_password_file":
            found.setdefault("neo4j_password", _secret(variable, value))
        else:
            found[name] = value
    return found


def _is_misspelt(name: str) -> bool:
    """Return whether a name resembles a setting; any other name may belong to a package."""
    name = name.removesuffix("_file")
    known = [each.removeprefix(PREFIX).lower() for each in _known_variables()]
    if sorted(name) in map(sorted, known):
        return True
    near = get_close_matches(name, known, n=1, cutoff=_NEAR)
    return bool(near) and abs(len(near[0]) - len(name)) <= _MISTYPED


def _known_variables() -> set[str]:
    fields = {PREFIX + name.upper() for name in Settings.model_fields}
    return fields | PLUGIN_VARIABLES | {PREFIX + "CONFIG", PREFIX + "NEO4J_PASSWORD_FILE"}


def _from_file(path: Path) -> dict[str, Any]:
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(
            f"The settings file `{path.name}` cannot be read: {error.strerror}",
            hint="Correct `--config` or SIDECYPHER_CONFIG.",
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"The settings file `{path.name}` is not TOML: {error}",
            hint="Correct it there: each setting is `name = value`, texts in quotes.",
        ) from None
    except RecursionError:
        raise SettingsError(f"The settings file `{path.name}` is nested too deeply") from None
    unknown = sorted(set(found) - set(Settings.model_fields))
    if unknown:
        raise SettingsError(
            f"The settings file `{path.name}` has the unknown name `{unknown[0]}`",
            hint=_suggestion(unknown[0], Settings.model_fields),
        )
    return found


def _file(variable: str, value: str) -> Path:
    try:
        return Path(value).expanduser()
    except RuntimeError:
        raise SettingsError(
            f"The file named by {variable} is in the home of an unknown user",
            details={"variable": variable},
        ) from None


def _secret(variable: str, value: str) -> SecretStr:
    try:
        password = read_password(_file(variable, value))
    except OSError as error:
        raise SettingsError(
            f"The file named by {variable} cannot be read: {error.strerror}",
            details={"variable": variable},
        ) from None
    except UnicodeDecodeError:
        raise SettingsError(
            f"The file named by {variable} is not text in UTF-8", details={"variable": variable}
        ) from None
    if not password:
        # It would mean a connection without authentication.
        raise SettingsError(
            f"The file named by {variable} is empty",
            hint="Write the password into it, or unset the variable.",
            details={"variable": variable},
        )
    return SecretStr(password)


def _checked(value: str, problem: str | None) -> str:
    if value and problem is not None:
        raise ValueError(problem)
    return value


def _text(value: object) -> str:
    if isinstance(value, tuple | list):
        return ",".join(str(part) for part in value)
    return str(value)
