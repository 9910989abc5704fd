"""Find procedures: installed packages by entry point, an author's own files by folder.

A module that cannot be imported never keeps the others from loading; it is reported by name and
reason. What has changed can be loaded again while the code before it goes on.
"""

import importlib
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Final

from sidecypher.errors import SidecypherError
from sidecypher.loading._files import Stamp, changed_files, forget_bytecode
from sidecypher.loading._guard import guarded
from sidecypher.loading._sources import Source, find_sources, modules_of
from sidecypher.sdk.batch.variants import with_batches
from sidecypher.sdk.marks import noted
from sidecypher.sdk.registry import Procedure, Registry, procedures_in
from sidecypher.sdk.signature.reader import place_of
from sidecypher.sdk.webhooks import Webhook, webhooks_in

__all__ = [
    "IMPORT_SECONDS",
    "Key",
    "LoadFailure",
    "LoadWarning",
    "Loaded",
    "Part",
    "Unit",
    "key_of",
    "load",
]

IMPORT_SECONDS: Final = 15.0
"""How long a module may take to be imported.

Each one that does not end halves this for those after it, so that any number of them holds up a
start for half a minute at most.
"""

_REASON_LENGTH: Final = 300

_NOT_KEPT: Final = (
    "is not offered: no module has its function at its top level. Define it there, not in a class "
    "or in another function, and give it one such decorator"
)

Found = Procedure | Webhook
"""What a module may have for the sidecar."""

Key = tuple[str, str]
"""What a procedure, function or webhook is known by: its kind and its name."""


@dataclass(frozen=True, slots=True)
class LoadFailure:
    """A module, or one procedure, function or webhook of it, that is left out, and why.

    Attributes:
        module: Entry point or file name; of what a module has lost, its own name.
        reason: One line for a person.
    """

    module: str
    reason: str


@dataclass(frozen=True, slots=True)
class LoadWarning:
    """A module that is loaded, but did something at its import that a module must not do.

    Attributes:
        module: Entry point or file name.
        what: One line for a person.
    """

    module: str
    what: str


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """One module of a source, as it was loaded.

    Attributes:
        name: Entry point or file name.
        found: What is in service of it: of an earlier load, if it has a failure now.
        failure: Why it could not be imported, or None.
        public_failure: The same for every Cypher user: without the text of a foreign exception,
            which may hold a password.
        warnings: What its import did to the process, and what of it is not offered.
        lost: What was decorated in it, but is offered by no module.
    """

    name: str
    found: tuple[Found, ...] = ()
    failure: str | None = None
    public_failure: str | None = None
    warnings: tuple[str, ...] = ()
    lost: tuple[LoadFailure, ...] = ()

    @classmethod
    def failed(cls, name: str, error: BaseException, warnings: tuple[str, ...] = ()) -> "Unit":
        """Return a module whose import raised an error."""
        return cls(
            name, failure=_reason(error), public_failure=_public_reason(error), warnings=warnings
        )

    @property
    def procedures(self) -> tuple[Procedure, ...]:
        """Procedures and functions in service of it."""
        return tuple(_procedures(self.found))


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One source, as it was loaded.

    Attributes:
        kept: Modules of earlier loads that are in service, since their successors failed.
        replaced: Modules that went out of service with this load.
        changed: Files that had changed; empty at a first load.
    """

    source: Source
    stamp: Stamp
    units: tuple[Unit, ...]
    kept: tuple[ModuleType, ...] = ()
    replaced: tuple[ModuleType, ...] = ()
    changed: frozenset[str] = frozenset()

    def failed(self) -> bool:
        """Tell whether a module of it could not be imported."""
        return any(unit.failure is not None for unit in self.units)


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """What was found.

    Attributes:
        registry: Every procedure in service.
        parts: By source.
        webhooks: Every webhook in service, by path.
    """

    registry: Registry
    parts: Mapping[str, Part] = field(default_factory=dict)
    webhooks: Mapping[str, Webhook] = field(default_factory=dict)

    @property
    def units(self) -> tuple[Unit, ...]:
        """Every module, those that could not be imported too."""
        return tuple(unit for part in self.parts.values() for unit in part.units)

    @property
    def failures(self) -> tuple[LoadFailure, ...]:
        """Modules that could not be imported."""
        return tuple(
            LoadFailure(unit.name, unit.failure) for unit in self.units if unit.failure is not None
        )

    @property
    def left_out(self) -> dict[str, str]:
        """The reason for each module that could not be imported, and for all that modules lost."""
        lost = (each for unit in self.units for each in unit.lost)
        return {each.module: each.reason for each in (*self.failures, *lost)}

    @property
    def warnings(self) -> tuple[LoadWarning, ...]:
        """What imports did that was undone, and what of them is not offered."""
        return tuple(LoadWarning(unit.name, what) for unit in self.units for what in unit.warnings)


def load(
    folders: Iterable[Path], before: Loaded | None = None, *, seconds: float = IMPORT_SECONDS
) -> Loaded:
    """Load every procedure of the installed packages and of `folders`.

    Args:
        folders: Folders of an author's own modules; each `*.py` file and package in them.
        before: What was loaded earlier. A source none of whose files has changed since is taken
            from there as it is; so are the procedures of a module that cannot be imported now.
        seconds: How long the first module may take.

    Returns:
        The registry, and one failure per module or folder that could not be used.
    """
    loader = _Loader(before, seconds)
    for source in find_sources(folders):
        loader.load(source)
    return loader.loaded()


class _Loader:
    """One load of all sources, which claim the names of their procedures in order."""

    def __init__(self, before: Loaded | None, seconds: float) -> None:
        self._before = before.parts if before is not None else {}
        self._seconds = seconds
        self._shortest = seconds / 16
        self._claimed: dict[Key, Found] = {}
        self._made: dict[Unit, list[Found]] = {}
        self._offered: set[Key] = set()
        self._parts: dict[str, Part] = {}

    def load(self, source: Source) -> None:
        """Load a source, or take it over if nothing in it has changed."""
        before = self._before.get(source.name)
        # Taken first: what changes while it is imported is imported again the next time.
        stamp = source.stamp()
        if before is None:
            part = Part(source, stamp, tuple(self._import(source)))
        elif stamp == before.stamp and not before.failed():
            part = self._take_over(before)
        else:
            part = self._replace(before, source, stamp)
        self._parts[source.name] = part

    def loaded(self) -> Loaded:
        """Return what was loaded, failed modules with the procedures they had before.

        These come last: a procedure that has moved to another module is that one's.
        """
        for name, part in self._parts.items():
            units = (_with_lost(unit, self._lost(unit)) for unit in part.units)
            whole = replace(part, units=tuple(units))
            before = self._before.get(name)
            self._parts[name] = whole if before is None else self._with_kept(whole, before)
        claimed = self._claimed.values()
        webhooks = {each.name: each for each in claimed if isinstance(each, Webhook)}
        return Loaded(Registry(_procedures(claimed)), self._parts, webhooks)

    def _lost(self, unit: Unit) -> list[LoadFailure]:
        """Return what was decorated while a module was imported, and is in none of them."""
        return [
            LoadFailure(each.name, f"({place_of(each.body)}) {_NOT_KEPT}")
            for each in self._made.get(unit, [])
            if key_of(each) not in self._offered
        ]

    def _take_over(self, before: Part) -> Part:
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
            # Also when the call that asked for it is cancelled.
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
            yield _with_lost(Unit(path), [LoadFailure(name, why) for name, why in lost])

    def _unit(self, name: str, import_module: Callable[[], ModuleType]) -> Unit:
        seconds = self._seconds
        done = guarded(lambda: _imported(import_module), seconds)
        if done.error is not None:
            return Unit.failed(name, done.error, done.warnings)
        if done.value is None:
            self._seconds = max(self._shortest, seconds / 2)
            late = f"its import did not end within {seconds:g} s"
            return Unit(name, failure=late, public_failure=late, warnings=done.warnings)
        found, made = done.value
        self._offered |= set(map(key_of, found))
        # Those imported from another module, which offers them already, are not new.
        new = [each for each in found if self._claimed.get(key_of(each)) is not each]
        try:
            unit = Unit(name, self._claim(_with_batches(new)), warnings=done.warnings)
        except SidecypherError as error:
            return Unit.failed(name, error, done.warnings)
        self._made[unit] = made
        return unit

    def _claim(self, found: Iterable[Found]) -> tuple[Found, ...]:
        """Claim the names of all that were found, or of none."""
        claimed: dict[Key, Found] = {}
        for candidate in found:
            key = key_of(candidate)
            if key in self._claimed or key in claimed:
                kind, name = key
                raise SidecypherError(f"another {kind} already has the name `{name}`")
            claimed[key] = candidate
        self._claimed.update(claimed)
        return tuple(claimed.values())


def key_of(found: Found) -> Key:
    """Return what a procedure, function or webhook is known by."""
    return found.kind, found.name


def _imported(import_module: Callable[[], ModuleType]) -> tuple[list[Found], list[Found]]:
    """Import a module; return what it has, and what was decorated meanwhile."""
    with noted() as made:
        module = import_module()
    modules = [module, *modules_of(module.__name__)[1:]]
    return [*procedures_in(modules), *webhooks_in(modules)], made


def _with_lost(unit: Unit, lost: list[LoadFailure]) -> Unit:
    if not lost:
        return unit
    told = (f"`{each.module}` {each.reason}" for each in lost)
    return replace(unit, lost=tuple(lost), warnings=(*unit.warnings, *told))


def _procedures(found: Iterable[Found]) -> Iterator[Procedure]:
    return (each for each in found if isinstance(each, Procedure))


def _with_batches(found: Iterable[Found]) -> Iterator[Found]:
    found = list(found)
    yield from with_batches(_procedures(found))
    yield from (each for each in found if isinstance(each, Webhook))


def _reason(error: BaseException) -> str:
    if isinstance(error, SidecypherError):
        return f"{error.message}. {error.hint}".strip()
    if isinstance(error, SyntaxError):
        return f"syntax error in line {error.lineno}: {error.msg}"
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
