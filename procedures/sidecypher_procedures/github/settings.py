"""Settings of the `github` procedures. No text ever shows their secrets."""

import hashlib
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Self

import httpx
from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import NoDecode

from sidecypher_procedures.environment import EnvironmentSettings
from sidecypher_procedures.github.errors import GithubSettingsError

PREFIX: Final = "SIDECYPHER_GITHUB_"
_PUBLIC_HOST: Final = "api.github.com"
_BASE_URL: Final = re.compile(
    r"https?://(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?"
    r"(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*/?"
)
_LARGEST_PORT: Final = 65_535
_EVENT: Final = re.compile(r"[a-z0-9_]+(?:\.[a-z0-9_]+)?")
_TOKEN: Final = re.compile(r"[\x21-\x7e]{1,4096}")
_Seconds = Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class Credential:
    """A token, or no authentication.

    Example:
        >>> Credential(None).key
        'anonymous'
    """

    token: SecretStr | None

    @property
    def key(self) -> str:
        """Key that identifies the credential without exposing it."""
        if self.token is None:
            return "anonymous"
        return hashlib.sha256(self.token.get_secret_value().encode()).hexdigest()

    def headers(self) -> dict[str, str]:
        """Return the authorization header; only for requests to the configured origin."""
        if self.token is None:
            return {}
        return {"Authorization": f"Bearer {self.token.get_secret_value()}"}


@dataclass(frozen=True, slots=True)
class App:
    """A GitHub App with one of its installations.

    Its id may be a client id, and its key file is in PEM form.
    """

    id: str
    installation: int
    key_file: Path


class GithubSettings(EnvironmentSettings, env_prefix=PREFIX):
    """Settings from the environment variables with the prefix ``SIDECYPHER_GITHUB_``.

    Attributes:
        base_url: Base of the REST API; ``https://HOST/api/v3`` on GitHub Enterprise Server.
        token: Token for every request; every Cypher user then sees what the token sees.
        token_file: File with the token, instead of `token`.
        app_id: Id or client id of a GitHub App, instead of a token.
        app_installation_id: Installation of that App.
        app_key_file: File with that App's private key, in PEM form.
        api_version: Version of GitHub's REST API.
        connect_timeout: Seconds for making a connection.
        read_timeout: Seconds for one answer, once connected.
        cache_bytes: Largest size of all cached answers together, in bytes.
        shared_cache_bytes: Largest size of all answers in Redis together, in bytes; 0 keeps none.
        negative_ttl: Seconds for which *not found* is cached at most.
        serve_stale: Whether to serve an expired answer instead of a transient error.
        webhook_secret: Secret of the webhooks; None turns them off.
        webhook_secret_file: File with that secret, instead of `webhook_secret`.
        webhook_nodes: Whether to create nodes for the subjects of webhooks.
        webhook_runs: Type of the run that an event begins, by event or ``event.action``.
        webhook_appends: Type of the run under way that an event is appended to, in the same way.
        webhook_sessions: Workflow whose session an event starts, by event or ``event.action``.
        webhook_answers: Workflow whose open request an event answers, in the same way.
        ambient_token: ``GITHUB_TOKEN`` itself, used only when the host is api.github.com.

    Example:
        >>> GithubSettings(base_url="https://github.example.com/api/v3/").base_url
        'https://github.example.com/api/v3'
    """

    refusal = GithubSettingsError

    base_url: str = f"https://{_PUBLIC_HOST}"
    token: SecretStr | None = None
    token_file: Path | None = None
    app_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9.]{1,64}$")] | None = None
    app_installation_id: Annotated[int, Field(ge=1)] | None = None
    app_key_file: Path | None = None
    api_version: Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")] = "2022-11-28"
    connect_timeout: _Seconds = 5.0
    read_timeout: _Seconds = 12.0
    cache_bytes: Annotated[int, Field(ge=0)] = 32 * 1024 * 1024
    shared_cache_bytes: Annotated[int, Field(ge=0)] = 64 * 1024 * 1024
    negative_ttl: Annotated[float, Field(ge=0, le=3600, allow_inf_nan=False)] = 30.0
    serve_stale: bool = True
    webhook_secret: SecretStr | None = None
    webhook_secret_file: Path | None = None
    webhook_nodes: bool = False
    # Not JSON: `issues.opened=triage,push=build`.
    webhook_runs: Annotated[Mapping[str, str], NoDecode] = Field(default_factory=dict)
    webhook_appends: Annotated[Mapping[str, str], NoDecode] = Field(default_factory=dict)
    webhook_sessions: Annotated[Mapping[str, str], NoDecode] = Field(default_factory=dict)
    webhook_answers: Annotated[Mapping[str, str], NoDecode] = Field(default_factory=dict)
    ambient_token: SecretStr | None = Field(default=None, validation_alias="GITHUB_TOKEN")

    @field_validator("base_url")
    @classmethod
    def _check_base_url(cls, value: str) -> str:
        if "@" in value or "?" in value or "#" in value:
            raise ValueError("must have no user, query or fragment")
        # Checked before it is parsed: httpx resolves dots and cuts at a backslash.
        if not _BASE_URL.fullmatch(value):
            raise ValueError("must be a URL such as https://HOST/api/v3")
        try:
            url = httpx.URL(value.rstrip("/"))
        except httpx.InvalidURL:
            raise ValueError("must be a URL such as https://HOST/api/v3") from None
        if url.port is not None and not 0 < url.port <= _LARGEST_PORT:
            raise ValueError(f"must have a port from 1 to {_LARGEST_PORT}")
        if url.scheme == "http" and not is_loopback(url.host):
            raise ValueError("must use https, because it carries the token")
        return str(url)

    @field_validator("token", "ambient_token")
    @classmethod
    def _check_token(cls, value: SecretStr | None) -> SecretStr | None:
        return None if value is None else _clean_token(value.get_secret_value())

    @field_validator(
        "webhook_runs", "webhook_appends", "webhook_sessions", "webhook_answers", mode="before"
    )
    @classmethod
    def _read_events(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        pairs = [each.partition("=") for each in value.split(",") if each.strip()]
        events = {event.strip(): name.strip() for event, _, name in pairs}
        if not all(_EVENT.fullmatch(event) and name for event, name in events.items()):
            raise ValueError("must be a list such as issues.opened=triage,push=build")
        return events

    @model_validator(mode="after")
    def _check_one_way_to_ask(self) -> Self:
        if self.token is not None and self.token_file is not None:
            raise ValueError(f"set {PREFIX}TOKEN or {PREFIX}TOKEN_FILE, not both")
        parts = (self.app_id, self.app_installation_id, self.app_key_file)
        if parts == (None, None, None):
            return self
        if self.token is not None or self.token_file is not None:
            raise ValueError(f"set a token or {PREFIX}APP_ID, not both")
        if self.app() is None:
            names = f"{PREFIX}APP_ID, {PREFIX}APP_INSTALLATION_ID and {PREFIX}APP_KEY_FILE"
            raise ValueError(f"set all of {names}, or none of them")
        return self

    @model_validator(mode="after")
    def _check_one_webhook_secret(self) -> Self:
        if self.webhook_secret is not None and self.webhook_secret_file is not None:
            raise ValueError(f"set {PREFIX}WEBHOOK_SECRET or {PREFIX}WEBHOOK_SECRET_FILE, not both")
        return self

    def app(self) -> App | None:
        """Return the GitHub App, or None without one."""
        if self.app_id is None or self.app_installation_id is None or self.app_key_file is None:
            return None
        return App(self.app_id, self.app_installation_id, self.app_key_file)

    def credential(self) -> Credential:
        """Return the token: `token`, else `token_file`, else ``GITHUB_TOKEN`` on api.github.com.

        Raises:
            GithubSettingsError: The token file cannot be read or has no token.
        """
        if self.token is not None:
            return Credential(self.token)
        if self.token_file is not None:
            return Credential(_read_token(self.token_file))
        return Credential(self.ambient_token if self._uses_ambient_token else None)

    @property
    def source(self) -> str | None:
        """Name of the variable that sets the credential, None without one."""
        if self.app_id is not None:
            return f"{PREFIX}APP_ID"
        if self.token is not None:
            return f"{PREFIX}TOKEN"
        if self.token_file is not None:
            return f"{PREFIX}TOKEN_FILE"
        return "GITHUB_TOKEN" if self._uses_ambient_token else None

    @property
    def _uses_ambient_token(self) -> bool:
        is_public = httpx.URL(self.base_url).host == _PUBLIC_HOST
        return is_public and self.ambient_token is not None

    def webhook_key(self) -> bytes | None:
        """Return the key of webhook signatures, None if webhooks are off.

        Raises:
            GithubSettingsError: The file of the secret cannot be read or is empty.
        """
        if self.webhook_secret_file is not None:
            return _read_secret(self.webhook_secret_file)
        if self.webhook_secret is not None:
            return self.webhook_secret.get_secret_value().encode()
        return None


def is_loopback(host: str) -> bool:
    """Return whether a host name can only be this machine.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("example.com")
        (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_token(text: str) -> bool:
    """Return whether a text can be a token: one line of visible ASCII characters."""
    return _TOKEN.fullmatch(text) is not None


def unusable_file(variable: str, reason: str) -> GithubSettingsError:
    """Return the error for a file that a setting names, without its path."""
    return GithubSettingsError(f"The file named by {variable} cannot be used: {reason}")


def _clean_token(text: str) -> SecretStr:
    token = text.strip()
    if not is_token(token):
        raise ValueError("is not a token: it must be one line of visible ASCII characters")
    return SecretStr(token)


def _read_token(file: Path) -> SecretStr:
    try:
        return _clean_token(file.read_text(encoding="ascii"))
    except OSError as error:
        reason = error.strerror or "it cannot be read"
    except ValueError:
        reason = "it holds no token, which is one line of visible ASCII characters"
    raise unusable_file(f"{PREFIX}TOKEN_FILE", reason)


def _read_secret(file: Path) -> bytes:
    try:
        secret = file.read_bytes().strip()
    except OSError as error:
        reason = error.strerror or "it cannot be read"
    else:
        if secret:
            return secret
        reason = "it is empty"
    raise unusable_file(f"{PREFIX}WEBHOOK_SECRET_FILE", reason)


class WebhookSettings:
    """The settings of the webhooks; one per sidecar.

    Attributes:
        key: The key of signatures; None turns the webhooks off.
        makes_nodes: Whether to create nodes for the subjects of deliveries.
    """

    def __init__(self, settings: GithubSettings | None = None) -> None:
        given = settings or GithubSettings.load()
        self.key: Final = given.webhook_key()
        self.makes_nodes: Final = given.webhook_nodes
        self._runs: Final[Mapping[str, str]] = given.webhook_runs
        self._appends: Final[Mapping[str, str]] = given.webhook_appends
        self._sessions: Final[Mapping[str, str]] = given.webhook_sessions
        self._answers: Final[Mapping[str, str]] = given.webhook_answers

    def run_type(self, name: str) -> str | None:
        """Return the type of the run that an event begins, None if it begins no run.

        The setting for an event with its action takes precedence over that for the event alone.

        Example:
            >>> given = GithubSettings(webhook_runs={"issues": "talk", "issues.opened": "triage"})
            >>> settings = WebhookSettings(given)
            >>> settings.run_type("issues.opened"), settings.run_type("issues.closed")
            ('triage', 'talk')
        """
        return _of_event(self._runs, name)

    def appended(self, name: str) -> str | None:
        """Return the type of the run that an event is appended to, as `run_type` does."""
        return _of_event(self._appends, name)

    def started(self, name: str) -> str | None:
        """Return the workflow whose session an event starts, as `run_type` does."""
        return _of_event(self._sessions, name)

    def answered(self, name: str) -> str | None:
        """Return the workflow whose open request an event answers, as `run_type` does."""
        return _of_event(self._answers, name)

    def concerns_graph(self, name: str) -> bool:
        """Return whether an event does something in the graph, whatever it is about."""
        return any(found(name) is not None for found in (self.run_type, self.started))


def _of_event(names: Mapping[str, str], name: str) -> str | None:
    return names.get(name) or names.get(name.partition(".")[0])
