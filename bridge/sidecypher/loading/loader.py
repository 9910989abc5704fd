"""Load procedures from entry points of installed packages and from an author's own folders.

A module that cannot be imported does not stop the others; its name and the reason are reported.
Changed sources can be loaded again while their previous code keeps running.
"""

import importlib
import traceback
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Final, TypeVar

from sidecypher.errors import SidecypherError
from sidecypher.loading._files import Stamp, changed_files, forget_bytecode
from sidecypher.loading._guard import guarded
from sidecypher.loading._sources import OWN_PACKAGE, Source, find_sources, modules_of
from sidecypher.sdk.backgrounds import Background
from sidecypher.sdk.batch.variants import with_batches
from sidecypher.sdk.declarations import collect_declarations, declared_in
from sidecypher.sdk.panels import Panel
from sidecypher.sdk.registry import IN_WORKERS, Procedure, Registry, procedures_in
from sidecypher.sdk.signature.reader import place_of
from sidecypher.sdk.steps import Step
from sidecypher.sdk.webhooks import Webhook

IMPORT_SECONDS: Final = 15.0
"""How long the import of a module may take.

Each one that does not end halves this for the modules after it, down to a sixteenth. Otherwise a
few such modules would delay a start for minutes.
"""

_REASON_LENGTH: Final = 300

_NOT_KEPT: Final = (
    "is not offered: no module has its function at its top level. Define it there, not in a class "
    "or in another function, and give it one such decorator"
)

Found = Procedure | Webhook | Step | Background | Panel
"""Member of a module: a procedure or function, a webhook, a step, a background function or a panel.
"""

_Found = TypeVar("_Found", Webhook, Step, Background, Panel)

Key = tuple[str, str]
"""Kind and name of a member."""


@dataclass(frozen=True, slots=True)
class LoadProblem:
    """A problem of a module, or of one of its members.

    Attributes:
        module: Entry point or file name, or the name of the member.
        reason: One line for a person.
    """

    module: str
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """One module of a source, as it was loaded.

    Attributes:
        name: Entry point or file name.
        found: Its members in service; they are from an earlier load if it has a failure now.
        failure: Why it could not be imported, or None.
        public_failure: The same for all Cypher users: without the text of a foreign exception,
            which may contain a password.
        warnings: Changes of its import to the process, and members that are not offered.
        lost: Members that were decorated in it but are offered by no module.
    """

    name: str
    found: tuple[Found, ...] = ()
    failure: str | None = None
    public_failure: str | None = None
    warnings: tuple[str, ...] = ()
    lost: tuple[LoadProblem, ...] = ()

    @classmethod
    def failed(cls, name: str, error: BaseException, warnings: tuple[str, ...] = ()) -> "Unit":
        """Return a module whose import raised an error."""
        return cls(
            name, failure=_reason(error), public_failure=_public_reason(error), warnings=warnings
        )

    @property
    def procedures(self) -> tuple[Procedure, ...]:
        """Its procedures and functions in service."""
        return tuple(_procedures(self.found))


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One source, as it was loaded.

    Attributes:
        kept: Modules of earlier loads that are in service, because their successors failed.
        replaced: Modules that went out of service with this load.
        changed: Files that had changed; empty at the first load.
    """

    source: Source
    stamp: Stamp
    units: tuple[Unit, ...]
    kept: tuple[ModuleType, ...] = ()
    replaced: tuple[ModuleType, ...] = ()
    changed: frozenset[str] = frozenset()

    def failed(self) -> bool:
        """Return whether one of its modules could not be imported."""
        return any(unit.failure is not None for unit in self.units)


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """Result of a load.

    Attributes:
        registry: Every procedure in service.
        parts: By source.
        webhooks: Every webhook in service, by path.
        steps: The functions of steps in service, by name.
        backgrounds: Every `@background` function in service, by name, without those of webhooks.
        panels: The pages of the console in service, by name.
    """

    registry: Registry
    parts: Mapping[str, Part] = field(default_factory=dict)
    webhooks: Mapping[str, Webhook] = field(default_factory=dict)
    steps: Mapping[str, Step] = field(default_factory=dict)
    backgrounds: Mapping[str, Background] = field(default_factory=dict)
    panels: Mapping[str, Panel] = field(default_factory=dict)

    @property
    def units(self) -> tuple[Unit, ...]:
        """All modules, including those that could not be imported."""
        return tuple(unit for part in self.parts.values() for unit in part.units)

    @property
    def sources_for_workers(self) -> list[str]:
        """Names of the sources with procedures for worker processes, and of sidecypher itself."""
        return [
            name
            for name, part in self.parts.items()
            if name == OWN_PACKAGE
            or any(found.executor in IN_WORKERS for unit in part.units for found in unit.procedures)
        ]

    @property
    def failures(self) -> tuple[LoadProblem, ...]:
        """Modules that could not be imported."""
        return tuple(
            LoadProblem(unit.name, unit.failure) for unit in self.units if unit.failure is not None
        )

    @property
    def left_out(self) -> dict[str, str]:
        """Reasons by name: of modules that could not be imported, and of lost members."""
        lost = (each for unit in self.units for each in unit.lost)
        return {each.module: each.reason for each in (*self.failures, *lost)}

    @property
    def warnings(self) -> tuple[LoadProblem, ...]:
        """Changes of imports that were undone, and members that are not offered."""
        return tuple(LoadProblem(unit.name, text) for unit in self.units for text in unit.warnings)


def load(
    folders: Iterable[Path],
    before: Loaded | None = None,
    *,
    only: Container[str] | None = None,
    seconds: float = IMPORT_SECONDS,
) -> Loaded:
    """Load every procedure of the installed packages and of `folders`.

    Args:
        folders: Folders of an author's own modules; each `*.py` file and package in them.
        before: Result of the previous load. Sources without changed files are reused from it, and
            so are the procedures of a module that cannot be imported now.
        only: Names of the sources to load; all if it is None.
        seconds: How long the first module may take.

    Returns:
        The registry, and one failure per module or folder that could not be used.
    """
    loader = _Loader(before, seconds)
    for source in find_sources(folders):
        if only is None or source.name in only:
            loader.load(source)
    return loader.loaded()


class _Loader:
    """One load of all sources, which claim the names of their procedures in order."""

    def __init__(self, before: Loaded | None, seconds: float) -> None:
        self._before = before.parts if before is not None else {}
        self._seconds = seconds
        self._shortest = seconds / 16
        self._claimed: dict[Key, Found] = {}
        self._decorated: dict[Unit, list[Found]] = {}
        self._offered: set[Key] = set()
        self._parts: dict[str, Part] = {}

    def load(self, source: Source) -> None:
        """Load a source, or reuse it if nothing in it has changed."""
        before = self._before.get(source.name)
        # Read first, so that files that change during the import are imported again next time.
        stamp = source.stamp()
        if before is None:
            part = Part(source, stamp, tuple(self._import(source)))
        elif stamp == before.stamp and not before.failed():
            part = self._reuse(before)
        else:
            part = self._replace(before, source, stamp)
        self._parts[source.name] = part

    def loaded(self) -> Loaded:
        """Return the result; failed modules keep the procedures that they had before.

        Those claim their names last: a procedure that has moved belongs to its new module.
        """
        for name, part in self._parts.items():
            units = (_with_lost(unit, self._lost(unit)) for unit in part.units)
            whole = replace(part, units=tuple(units))
            before = self._before.get(name)
            self._parts[name] = whole if before is None else self._with_kept(whole, before)
        claimed = self._claimed.values()
        return Loaded(
            Registry(_procedures(claimed)),
            self._parts,
            _by_name(claimed, Webhook),
            _by_name(claimed, Step),
            _by_name(claimed, Background),
            _by_name(claimed, Panel),
        )

    def _lost(self, unit: Unit) -> list[LoadProblem]:
        """Return the members that were decorated during an import but are in no module."""
        return [
            LoadProblem(each.name, f"({place_of(each.function)}) {_NOT_KEPT}")
            for each in self._decorated.get(unit, [])
            if key_of(each) not in self._offered
        ]

    def _reuse(self, before: Part) -> Part:
        units = []
        for unit in before.units:
            try:
                self._claim(unit.found)
            except SidecypherError as error:
                units.append(Unit.failed(unit.name, error))
            else:
                units.append(unit)
        return replace(before, units=tuple(units), replaced=(), changed=frozenset())

    def _replace(self, before: Part, source: Source, stamp: Stamp) -> Part:
        changed = changed_files(before.stamp, stamp)
        old = (*before.source.modules(), *before.kept)
        forget_bytecode(changed)
        source.forget(old)
        try:
            units = tuple(self._import(source))
        finally:
            # Also if the call that requested the reload is cancelled.
            source.restore(old)
        return Part(source, stamp, units, replaced=old, changed=changed)

    def _with_kept(self, part: Part, before: Part) -> Part:
        earlier = {unit.name: unit.found for unit in before.units}
        units = []
        for unit in part.units:
            kept = earlier.get(unit.name, ()) if unit.failure is not None else ()
            free = [found for found in kept if key_of(found) not in self._claimed]
            self._claimed.update((key_of(found), found) for found in free)
            units.append(replace(unit, found=tuple(free)) if free else unit)
        part = replace(part, units=tuple(units))
        if any(unit.failure is not None and unit.found for unit in units):
            return replace(part, kept=part.replaced, replaced=())
        return part

    def _import(self, source: Source) -> Iterator[Unit]:
        importlib.invalidate_caches()
        for name, import_module in source.imports():
            yield self._unit(name, import_module)
        for path, lost in source.unreached():
            yield _with_lost(Unit(path), [LoadProblem(name, why) for name, why in lost])

    def _unit(self, name: str, import_module: Callable[[], ModuleType]) -> Unit:
        seconds = self._seconds
        outcome = guarded(lambda: _imported(import_module), seconds)
        if outcome.error is not None:
            return Unit.failed(name, outcome.error, outcome.warnings)
        if outcome.value is None:
            self._seconds = max(self._shortest, seconds / 2)
            late = f"its import did not end within {seconds:g} s"
            return Unit(name, failure=late, public_failure=late, warnings=outcome.warnings)
        found, decorated = outcome.value
        self._offered |= set(map(key_of, found))
        # Members that were imported from a module which offers them already are not new.
        new = [each for each in found if self._claimed.get(key_of(each)) is not each]
        try:
            unit = Unit(name, self._claim(_with_batches(new)), warnings=outcome.warnings)
        except SidecypherError as error:
            return Unit.failed(name, error, outcome.warnings)
        self._decorated[unit] = decorated
        return unit

    def _claim(self, found: Iterable[Found]) -> tuple[Found, ...]:
        """Claim the names of all members, or of none if one is taken."""
        claimed: dict[Key, Found] = {}
        for candidate in found:
            key = key_of(candidate)
            other = self._claimed.get(key) or claimed.get(key)
            if other is not None:
                kind, name = key
                place = place_of(other.function)
                raise SidecypherError(f"another {kind} ({place}) already has the name `{name}`")
            claimed[key] = candidate
        self._claimed.update(claimed)
        return tuple(claimed.values())


def key_of(found: Found) -> Key:
    """Return kind and name of a member."""
    return found.kind, found.name


def _imported(import_module: Callable[[], ModuleType]) -> tuple[list[Found], list[Found]]:
    """Import a module; return its members, and all that was decorated meanwhile."""
    with collect_declarations() as decorated:
        module = import_module()
    modules = [module, *modules_of(module.__name__)[1:]]
    found: list[Found] = [*procedures_in(modules)]
    for kind in (Webhook, Step, Background, Panel):
        found += declared_in(modules, kind)
    return found, decorated


def _with_lost(unit: Unit, lost: list[LoadProblem]) -> Unit:
    if not lost:
        return unit
    warnings = (f"`{each.module}` {each.reason}" for each in lost)
    return replace(unit, lost=tuple(lost), warnings=(*unit.warnings, *warnings))


def _procedures(found: Iterable[Found]) -> Iterator[Procedure]:
    return (each for each in found if isinstance(each, Procedure))


def _by_name(found: Iterable[Found], kind: type[_Found]) -> dict[str, _Found]:
    return {each.name: each for each in found if isinstance(each, kind)}


def _with_batches(found: Iterable[Found]) -> Iterator[Found]:
    found = list(found)
    yield from with_batches(_procedures(found))
    yield from (each for each in found if not isinstance(each, Procedure))


def _reason(error: BaseException) -> str:
    if isinstance(error, SidecypherError):
        return f"{error.message}. {error.hint}".strip()
    if isinstance(error, SyntaxError):
        where = f" in line {error.lineno}" if error.lineno else ""
        return f"syntax error{where}: {error.msg}"
    try:
        text = f"{type(error).__name__} at import: {error}"
    except Exception:  # noqa: BLE001 - an author's `__str__` may raise anything
        text = f"{type(error).__name__} at import"
    return text.splitlines()[0][:_REASON_LENGTH]


def _public_reason(error: BaseException) -> str:
    if isinstance(error, SidecypherError | SyntaxError):
        return _reason(error)
    places = traceback.extract_tb(error.__traceback__)
    place = f" in line {places[-1].lineno} of `{Path(places[-1].filename).name}`" if places else ""
    return f"{type(error).__name__} at import{place}"
