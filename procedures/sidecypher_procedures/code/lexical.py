"""Calls, uses and bases resolved by names alone: scopes, imports, and names that occur once.

This is how languages other than Python are resolved where no SCIP index knows a name.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final, TypeAlias, TypeVar

from sidecypher_procedures.code.model import (
    Base,
    EntityType,
    Import,
    Language,
    Link,
    Place,
    Resolution,
    SourceFile,
    Targets,
    Use,
)

_SELF: Final = frozenset({"self", "this", "Self"})
_SUPER: Final = "super"
_FAMILIES: Final[Mapping[Language, str]] = {"typescript": "javascript"}
"""Languages whose files import each other."""

_MEMBERS_ARE_SEEN: Final = frozenset({"java", "ruby", "rust"})
"""Languages in which what a class or a module defines has a name in it without the class's."""

_SEPARATORS: Final = re.compile(r"::|[./]")


Imported: TypeAlias = Mapping[str, Sequence[Place]]
"""What the names that a file imports stand for: a package of Go is several files."""

_Site = TypeVar("_Site", Use, Base)
_Resolve: TypeAlias = Callable[[SourceFile, _Site, Imported], tuple[Place, Resolution] | None]


class Names:
    """What the files of one family of languages declare, by name.

    Args:
        files: The files.
        targets: What is known of names by their places.
    """

    def __init__(
        self, files: Iterable[SourceFile], targets: Targets = MappingProxyType({})
    ) -> None:
        self._targets = targets
        self.files = {file.path: file for file in files}
        self._tops: dict[str, dict[str, Place]] = defaultdict(dict)
        self._members: dict[tuple[str, str], list[Place]] = defaultdict(list)
        self._fields: dict[tuple[str, str], list[Place]] = defaultdict(list)
        self._declared: dict[tuple[str, str], list[Place]] = defaultdict(list)
        self._in_folders: dict[tuple[str, str], list[Place]] = defaultdict(list)
        self._callable: dict[str, list[Place]] = defaultdict(list)
        # Files by their path without suffix, and by the last names of file and folder.
        self._stems: dict[str, list[str]] = defaultdict(list)
        self._ends: dict[str, list[str]] = defaultdict(list)
        for file in self.files.values():
            stem = _stem(file.path)
            self._stems[stem].append(file.path)
            for name in {*stem.split("/")[-2:]}:
                self._ends[name].append(file.path)
            for index, declared in enumerate(file.declarations):
                place = Place(file.path, index)
                if declared.parent is None:
                    continue
                self._declared[file.path, declared.name].append(place)
                if declared.parent == 0:
                    self._in_folders[_folder(file.path), declared.name].append(place)
                    self._tops[file.path].setdefault(declared.name.rpartition(".")[2], place)
                    self._tops[file.path].setdefault(declared.path_in_file, place)
                if declared.type in {"function", "class"}:
                    name = declared.name.rpartition(".")[2]
                    self._callable[name].append(place)
                    owner = _SEPARATORS.split(declared.path_in_file)[-2:-1]
                    for each in owner:
                        self._members[each, name].append(place)
                else:
                    for each in _SEPARATORS.split(declared.path_in_file)[-2:-1]:
                        self._fields[each, declared.name].append(place)

    def links(self) -> Iterator[Link]:
        """Yield the calls, uses and bases that can be resolved."""
        for file in self.files.values():
            imported = self._imported(file)
            for call in file.calls:
                source = Place(file.path, call.inside)
                for target, way in self._found(file, call, self._call, imported):
                    yield Link(source, target, "calls", way, call.line, call.column)
            for use in file.uses:
                source = Place(file.path, use.inside)
                for target, way in self._found(file, use, self._used, imported):
                    if target != source and target.index:
                        yield Link(source, target, "references", way, use.line, use.column)
            for base in file.bases:
                source = Place(file.path, base.inside)
                for target, way in self._found(file, base, self._base, imported):
                    if target != source:
                        yield Link(source, target, "inherits", way, base.line, 0)

    def _found(
        self, file: SourceFile, site: _Site, resolve: _Resolve[_Site], imported: Imported
    ) -> Iterable[tuple[Place, Resolution]]:
        """Return what a name is of: what is known of its place, or else what the name says."""
        known = self._targets.get((file.path, site.name_at))
        if known is not None:
            return [(target, "typed") for target in known]
        found = resolve(file, site, imported)
        return () if found is None else [found]

    def _call(
        self, file: SourceFile, call: Use, imported: Imported
    ) -> tuple[Place, Resolution] | None:
        if not call.name:
            return None
        # In Rust it is the module around this one.
        if _SUPER in {call.name, call.receiver} and file.language != "rust":
            return self._of_base(file, call, imported)
        if not call.receiver:
            return self._named(file, call.name, imported, call.inside)
        owner = _SEPARATORS.split(call.receiver)[-1]
        if owner in _SELF or owner == _SUPER:
            return self._of_class(file, call)
        for module in imported.get(owner, ()):
            found = self._tops[module.path].get(call.name) if module.index == 0 else None
            if found is not None:
                return found, "exact"
        members = self._members.get((owner, call.name), [])
        if len(members) == 1:
            return members[0], "exact"
        return self._unique(call.name)

    def _of_class(self, file: SourceFile, call: Use) -> tuple[Place, Resolution] | None:
        """Resolve a call on the object itself by the class around it."""
        index: int | None = call.inside
        while index is not None:
            declared = file.declarations[index]
            for name in reversed(_SEPARATORS.split(declared.path_in_file)):
                members = self._members.get((name, call.name), [])
                own = [each for each in members if each.path == file.path] or members
                if len(own) == 1:
                    return own[0], "typed"
            index = declared.parent
        return self._unique(call.name)

    def _of_base(
        self, file: SourceFile, call: Use, imported: Imported
    ) -> tuple[Place, Resolution] | None:
        """Resolve a call of what the class around it inherits: a method, or the constructor."""
        name, around = call.name, call.inside
        if name == _SUPER:
            # Ruby calls the method of the same name.
            name = file.declarations[around].name if file.language == "ruby" else ""
        while file.declarations[around].type != "class":
            parent = file.declarations[around].parent
            if parent is None:
                return None
            around = parent
        return self._inherited(Place(file.path, around), name, imported, set())

    def _inherited(
        self, place: Place, name: str, imported: Imported, seen: set[Place]
    ) -> tuple[Place, Resolution] | None:
        """Return what a class inherits under a name; a base class itself for its constructor."""
        file = self.files[place.path]
        for base in file.bases:
            found = self._base(file, base, imported) if base.inside == place.index else None
            if found is None or found[0] in seen:
                continue
            if not name:
                return found[0], "typed"
            above = found[0]
            seen.add(above)
            for each in self._declared.get((above.path, name), ()):
                if self._parent_of(each) == above.index:
                    return each, "typed"
            inherited = self._inherited(above, name, self._imported(self.files[above.path]), seen)
            if inherited is not None:
                return inherited
        return None

    def _base(
        self, file: SourceFile, base: Base, imported: Imported
    ) -> tuple[Place, Resolution] | None:
        return self._named(file, _SEPARATORS.split(base.name)[-1], imported, base.inside)

    def _used(
        self, file: SourceFile, use: Use, imported: Imported
    ) -> tuple[Place, Resolution] | None:
        """Resolve a name that is read; a file's own name is that of a module."""
        if not use.receiver:
            return self._read(file, use, imported)
        owner = _SEPARATORS.split(use.receiver)[-1]
        if owner in _SELF:
            return self._of_own_class(file, use)
        for module in imported.get(owner, ()):
            found = self._tops[module.path].get(use.name) if module.index == 0 else None
            if found is not None:
                return found, "exact"
        key = (owner, use.name)
        members = [*self._members.get(key, ()), *self._fields.get(key, ())]
        return (members[0], "exact") if len(members) == 1 else None

    def _of_own_class(self, file: SourceFile, use: Use) -> tuple[Place, Resolution] | None:
        """Resolve an attribute of the object itself by the class around it."""
        around: int | None = use.inside
        while around is not None:
            declared = file.declarations[around]
            for place in self._declared.get((file.path, use.name), ()):
                if declared.type == "class" and self._parent_of(place) == around:
                    return place, "typed"
            around = declared.parent
        return None

    def _parent_of(self, place: Place) -> int | None:
        return self.files[place.path].declarations[place.index].parent

    def _read(
        self, file: SourceFile, use: Use, imported: Imported
    ) -> tuple[Place, Resolution] | None:
        """Resolve a name that stands alone as its scope sees it."""
        around: int | None = use.inside
        while around is not None:
            declared = file.declarations[around]
            if declared.type != "class" or file.language in _MEMBERS_ARE_SEEN:
                for place in self._declared.get((file.path, use.name), ()):
                    if self._parent_of(place) == around:
                        return place, "exact"
            around = declared.parent
        for found in imported.get(use.name, ())[:1]:
            return found, "exact"
        near = self._in_folders.get((_folder(file.path), use.name), ())
        if file.language in {"go", "java"} and len(near) == 1:
            return near[0], "exact"
        # Only classes have names that say enough.
        guess = self._unique(use.name)
        is_class = guess is not None and self._type_of(guess[0]) == "class"
        return guess if is_class else None

    def _type_of(self, place: Place) -> EntityType:
        return self.files[place.path].declarations[place.index].type

    def _named(
        self, file: SourceFile, name: str, imported: Imported, inside: int
    ) -> tuple[Place, Resolution] | None:
        """Resolve a bare name as its scope sees it."""
        around: int | None = inside
        while around is not None:
            for place in self._callable.get(name, ()):
                if place.path == file.path and file.declarations[place.index].parent == around:
                    return place, "exact"
            around = file.declarations[around].parent
        for found in imported.get(name, ())[:1]:
            return found, "exact"
        near = [
            place
            for place in self._callable.get(name, ())
            if PurePosixPath(place.path).parent == PurePosixPath(file.path).parent
            and self._tops[place.path].get(name) == place
        ]
        # Go and Java see all files of a folder without an import.
        if file.language in {"go", "java"} and len(near) == 1:
            return near[0], "exact"
        return self._unique(name)

    def _unique(self, name: str) -> tuple[Place, Resolution] | None:
        found = self._callable.get(name, [])
        return (found[0], "unique_name") if len(found) == 1 else None

    def _imported(self, file: SourceFile) -> Imported:
        imported: dict[str, list[Place]] = defaultdict(list)
        for each in file.imports:
            for path in self.module_paths(file, each):
                if each.name == "*":
                    for name, place in self._tops[path].items():
                        imported[name].append(place)
                    continue
                name = each.alias or each.name or _SEPARATORS.split(each.module)[-1]
                imported[name].append(self._tops[path].get(each.name) or Place(path, 0))
        return imported

    def module_paths(self, file: SourceFile, each: Import) -> list[str]:
        """Return the files that an import names: below the importing file, or by their ends."""
        module = each.module
        if module.startswith("."):
            base = PurePosixPath(file.path).parent
            parts = [part for part in module.split("/") if part != "."]
            while parts and parts[0] == "..":
                base, parts = base.parent, parts[1:]
            wanted = str(base.joinpath(*parts))
            return [*self._stems[wanted], *self._stems[f"{wanted}/index"]]
        wanted = "/".join(part for part in _SEPARATORS.split(module) if part not in {"crate", ""})
        if file.language == "go":
            # The names before that of the package are those of the repository, or of its host.
            wanted = wanted.rpartition("/")[2]
        return [path for path in self._ends[wanted.rpartition("/")[2]] if _is_named(path, wanted)]


def _is_named(path: str, wanted: str) -> bool:
    """Return whether a file, or the folder it is in, has a name that ends so."""
    stem = _stem(path)
    folder = stem.rpartition("/")[0]
    return any(f"/{name}".endswith(f"/{wanted}") for name in (stem, folder))


def families(files: Iterable[SourceFile]) -> dict[str, list[SourceFile]]:
    """Return the files by family of languages."""
    grouped: dict[str, list[SourceFile]] = defaultdict(list)
    for file in files:
        grouped[_FAMILIES.get(file.language, file.language)].append(file)
    return grouped


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _stem(path: str) -> str:
    return str(PurePosixPath(path).with_suffix(""))
