"""The file format SCIP, which the indexers of many languages write.

An index is a message of Protocol Buffers. The fields that are read are declared here, since a
generated module would have all of them and need a compiler. Documents are read as bytes, which look
the same in the format, and decoded one by one: a large index has too many objects for the memory.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal, NamedTuple, TypeAlias
from urllib.parse import unquote, urlsplit

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from sidecypher_procedures.code.errors import BadIndex

Encoding: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]

_ENCODINGS: Final[Mapping[int, Sequence[Encoding]]] = {
    1: ("utf-8",),
    2: ("utf-16",),
    3: ("utf-32",),
}
_ANY_ENCODING: Final[Sequence[Encoding]] = ("utf-16", "utf-8", "utf-32")
"""What columns may count if an index does not say it; that of scip-typescript is first."""

_DEFINITION: Final = 1
"""The role of an occurrence that defines its symbol."""

_SCHEMA: Final[Mapping[str, Mapping[str, tuple[int, str]]]] = {
    "Index": {"metadata": (1, "Metadata"), "documents": (2, "repeated bytes")},
    "Metadata": {"project_root": (3, "string")},
    "Path": {"relative_path": (1, "string")},
    "Document": {
        "occurrences": (2, "repeated Occurrence"),
        "position_encoding": (6, "int32"),
    },
    "Occurrence": {
        "range": (1, "repeated int32"),
        "symbol": (2, "string"),
        "symbol_roles": (3, "int32"),
        "single_line_range": (8, "Line"),
        "multi_line_range": (9, "Lines"),
    },
    "Line": {"line": (1, "int32"), "start_character": (2, "int32"), "end_character": (3, "int32")},
    "Lines": {},
}
"""Number and type of the fields of each message. A `Path` is a document of which only the path is
read."""


def _messages() -> Mapping[str, Any]:
    file = FileDescriptorProto(name="scip.proto", package="scip", syntax="proto3")
    for name, fields in _SCHEMA.items():
        message = file.message_type.add(name=name)
        for label, (number, kind) in fields.items():
            *repeated, bare = kind.split()
            field = message.field.add(name=label, number=number)
            field.label = (
                FieldDescriptorProto.LABEL_REPEATED
                if repeated
                else FieldDescriptorProto.LABEL_OPTIONAL
            )
            if bare in _SCHEMA:
                field.type = FieldDescriptorProto.TYPE_MESSAGE
                field.type_name = f".scip.{bare}"
            else:
                field.type = FieldDescriptorProto.Type.Value(f"TYPE_{bare.upper()}")
    pool = DescriptorPool()
    pool.Add(file)
    return {name: GetMessageClass(pool.FindMessageTypeByName(f"scip.{name}")) for name in _SCHEMA}


_MESSAGES: Final = _messages()


class Occurrence(NamedTuple):
    """A part of a line that names a symbol.

    Attributes:
        row: The line, from 0.
        start: Its first column, from 0.
        end: The column after its last.
    """

    row: int
    start: int
    end: int
    symbol: str
    is_definition: bool


@dataclass(frozen=True, slots=True)
class Document:
    """What an index says of a file.

    Attributes:
        path: The file, below the root of the repository.
        encodings: What its columns may count, the likeliest first.
    """

    path: str
    encodings: Sequence[Encoding]
    occurrences: Sequence[Occurrence]


class Index:
    """A SCIP index whose documents have not been decoded.

    Args:
        path: The file, from the root of the repository.
        content: The bytes of the file.
        root: The root, without links.

    Raises:
        BadIndex: It is not a SCIP index.
    """

    def __init__(self, path: str, content: bytes, root: Path) -> None:
        self.name = PurePosixPath(path).name
        with self._decoding():
            index = _MESSAGES["Index"].FromString(content)
            self._documents = [
                (_MESSAGES["Path"].FromString(document).relative_path, document)
                for document in index.documents
            ]
        if not self._documents:
            raise BadIndex(f"The SCIP index `{self.name}` has no documents")
        project, folder = _below(root, index.metadata.project_root), PurePosixPath(path).parent
        self._bases = [base for base in (project, ".", str(folder)) if base is not None]

    @contextmanager
    def _decoding(self) -> Iterator[None]:
        try:
            yield
        except DecodeError:
            raise BadIndex(f"`{self.name}` is not a SCIP index, or is damaged") from None

    def documents(self, paths: Mapping[str, object]) -> Iterator[Document]:
        """Yield the documents of some files.

        Args:
            paths: The files, below the root of the repository.

        Raises:
            BadIndex: A document is damaged.
        """
        base = self._base(paths)
        for relative, content in self._documents:
            path = str(PurePosixPath(base, relative))
            if path in paths:
                with self._decoding():
                    document = _MESSAGES["Document"].FromString(content)
                yield Document(
                    path,
                    _ENCODINGS.get(document.position_encoding, _ANY_ENCODING),
                    [*filter(None, map(_occurrence, document.occurrences))],
                )

    def paths(self, paths: Mapping[str, object]) -> list[str]:
        """Return the paths of all documents, from the root of the repository if they are in it.

        Args:
            paths: The files, below the root of the repository.
        """
        base = self._base(paths)
        return [str(PurePosixPath(base, path)) for path, _ in self._documents]

    def _base(self, paths: Mapping[str, object]) -> str:
        """Return the folder that the paths of documents begin at.

        It is the root of the indexed project. If that was on another machine, it is the first
        folder that has one of the documents.
        """
        for base in self._bases:
            if any(str(PurePosixPath(base, path)) in paths for path, _ in self._documents):
                return base
        return "."


def _below(root: Path, uri: str) -> str | None:
    """Return the path of a folder below the root, None if it is not below."""
    try:
        folder = Path(unquote(urlsplit(uri).path))
    except ValueError:
        return None
    if not folder.is_absolute() or not folder.is_relative_to(root):
        return None
    return folder.relative_to(root).as_posix()


def _occurrence(message: Any) -> Occurrence | None:
    """Return an occurrence with a symbol in one line, as identifiers are."""
    match list(message.range):
        case [row, start, end]:
            pass
        case [row, start, last, end] if row == last:
            pass
        case [] if message.HasField("single_line_range"):
            line = message.single_line_range
            row, start, end = line.line, line.start_character, line.end_character
        case _:
            return None
    if not message.symbol or start == end:
        return None
    is_definition = bool(message.symbol_roles & _DEFINITION)
    return Occurrence(row, start, end, message.symbol, is_definition)
