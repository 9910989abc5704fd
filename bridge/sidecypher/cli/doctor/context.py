"""The installation that the checks inspect; most parts are read once, at first use."""

from collections.abc import Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

import httpx

from sidecypher.cli.call import call_procedure
from sidecypher.cli.sidecars import run_folder_of, send_request
from sidecypher.errors import SettingsError, SidecypherError
from sidecypher.host.address import bolt_address
from sidecypher.host.rendezvous import Announcement, running_sidecars
from sidecypher.host.settings import NO_FILE, PREFIX, Settings, load_settings
from sidecypher.loading.loader import Loaded, load
from sidecypher.protocol.catalogue import Catalogue
from sidecypher.runtime.java import Javas
from sidecypher.runtime.process.state import State, read_state
from sidecypher.sdk.checks import CannotCheck, CheckContext
from sidecypher.sdk.registry import Procedure
from sidecypher.testing import ProcedureEnvironment
from sidecypher_schema import Graph, connect

CONNECT_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 15.0
"""How long the sidecar may take to answer; it may have to query GitHub."""


class DoctorContext(CheckContext):
    """One installation; the checks never change it.

    Attributes:
        settings: The valid settings.
        setting_errors: Errors of the other settings.
    """

    def __init__(
        self, flags: Mapping[str, Any], environ: Mapping[str, str], config: Path | None
    ) -> None:
        self.environ: Final = environ
        self.settings, self.setting_errors = _valid_settings(flags, environ, config)
        self.javas: Final = Javas(environ=environ)
        self._neo4j: Graph | CannotCheck | None = None
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        """Return the context."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection to Neo4j."""
        self._opened.close()

    @cached_property
    def loaded(self) -> Loaded:
        """Procedures that are found now, even if a sidecar has loaded others."""
        return load(self.settings.procedures)

    @property
    def state(self) -> State | None:
        """State that the supervisor of the home has written."""
        return read_state(self.settings.home)

    @property
    def runs(self) -> bool:
        """Whether a supervisor is running in the home."""
        return self.state is not None and self.state.alive

    @property
    def how_to_start(self) -> str:
        """Hint if nothing is running; with your own Neo4j you also run your own sidecar."""
        if self.settings.neo4j_uri:
            return f"Run `sidecypher serve`{self.see_also}."
        return "Run `sidecypher up`."

    @property
    def see_also(self) -> str:
        """End of a hint about a Neo4j that sidecypher has not set up: the page with the steps."""
        return "; see docs/existing-neo4j.md" if self.settings.neo4j_uri else ""

    @cached_property
    def run_folder(self) -> Path:
        """Run folder of its sidecars."""
        return run_folder_of(self.settings)

    @cached_property
    def sidecars(self) -> list[Announcement]:
        """Running sidecars."""
        return running_sidecars(self.run_folder)

    def catalogue(self) -> tuple[Catalogue, str]:
        """Return the catalogue of the sidecar or else of the procedures found, and its description.

        Raises:
            CannotCheck: The sidecar does not answer.
        """
        if self.sidecars:
            answer = self.get(self.sidecars[0], "/v1/procedures")
            return Catalogue.from_json(answer.content), "those of the sidecar"
        return self.loaded.registry.catalogue, "those that are found"

    def graph(self) -> Graph:
        """Return the server that commands use, connected once.

        Raises:
            CannotCheck: It cannot be reached; further checks do not try again.
        """
        if self._neo4j is None:
            try:
                self._neo4j = self._connected()
            except CannotCheck as unknown:
                self._neo4j = unknown
        if isinstance(self._neo4j, CannotCheck):
            raise CannotCheck(self._neo4j.why, self._neo4j.fix)
        return self._neo4j

    def _connected(self) -> Graph:
        address = bolt_address(self.settings)
        if address is None or not (self.settings.neo4j_uri or self.runs):
            raise CannotCheck("Neo4j does not run", self.how_to_start)
        driver = address.driver(
            connection_timeout=CONNECT_SECONDS,
            connection_acquisition_timeout=CONNECT_SECONDS,
            max_transaction_retry_time=0,
            notifications_min_severity="OFF",
        )
        self._opened.callback(driver.close)
        try:
            return connect(driver, address.database)
        except SidecypherError as error:
            raise CannotCheck(
                error.message,
                "Check that it runs, and that address, user, password and database are correct.",
            ) from None

    def call(self, name: str, *arguments: Any) -> list[dict[str, Any]]:
        """Call a procedure without a transaction, in a running sidecar or else in this process.

        Without a sidecar the result is that of one which would be started here now.

        Raises:
            CannotCheck: There is no such procedure, or the sidecar does not answer.
            SidecypherError: The call failed.
        """
        if self.sidecars:
            return self._ask_sidecar(name, arguments)
        with ProcedureEnvironment(self._found(name).function, run=lambda *_: []) as environment:
            return environment.call(name, *arguments)

    def call_in_neo4j(self, name: str, *arguments: Any) -> list[dict[str, Any]]:
        """Call a procedure that reads the graph, in Neo4j or else in this process without a graph.

        Raises:
            CannotCheck: Neo4j cannot be reached, or there is no such procedure.
            SidecypherError: The call failed.
        """
        if not self.sidecars:
            return self.call(name, *arguments)
        graph = self.graph()
        found = call_procedure(graph.driver, name, arguments, graph.database)
        return [record.data() for record in found.records]

    def get(self, sidecar: Announcement, path: str) -> httpx.Response:
        """Return the response of a sidecar to a GET request."""
        return self._ask(sidecar, "GET", path)

    def _ask_sidecar(self, name: str, arguments: tuple[Any, ...]) -> list[dict[str, Any]]:
        answer = self._ask(self.sidecars[0], "POST", f"/v1/call/{name}", content=list(arguments))
        content = answer.json()
        if not answer.is_success:
            raise SidecypherError(content["detail"], code=content["code"], hint=content["hint"])
        rows: list[dict[str, Any]] = content["rows"]
        return rows

    def _ask(
        self, sidecar: Announcement, method: str, path: str, content: Any = None
    ) -> httpx.Response:
        try:
            return send_request(
                self.run_folder, sidecar, method, path, seconds=ANSWER_SECONDS, content=content
            )
        except (OSError, httpx.HTTPError) as error:
            raise CannotCheck(
                f"the sidecar does not answer ({type(error).__name__})",
                "Read the end of its log; stop its process, and it is started again.",
            ) from None

    def _found(self, name: str) -> Procedure:
        try:
            return self.loaded.registry.get(name)
        except SidecypherError:
            raise CannotCheck(f"`{name}` is not there", "See the check `modules`.") from None


def _valid_settings(
    flags: Mapping[str, Any], environ: Mapping[str, str], config: Path | None
) -> tuple[Settings, list[SettingsError]]:
    """Return the valid settings, and the errors of the others.

    An invalid setting is left out at its origin: an option, a variable, or the whole file. So it
    does not hide errors of other settings.
    """
    options = {name: value for name, value in flags.items() if value is not None}
    given, file = dict(environ), config
    errors: list[SettingsError] = []
    while True:
        try:
            return load_settings(options, given, file), errors
        except SettingsError as error:
            errors.append(error)
            variable = error.details.get("variable", "")
            option = variable.removeprefix(PREFIX).lower()
            if option in options:
                del options[option]
            elif given.get(variable, "").strip():
                del given[variable]
            elif file != NO_FILE:
                file = NO_FILE
            else:
                raise
