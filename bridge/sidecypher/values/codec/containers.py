"""LIST, MAP, and ANY, which is any type.

For ANY, a value's exact class is looked up before its base classes: most values have Python's own
classes, and every value of a MAP is ANY.
"""

from collections.abc import Sequence
from operator import length_hint
from typing import Any, Final

from sidecypher.errors import ValueTypeError
from sidecypher.values.codec._scalars import are_plain, encode_string, in_64_bits
from sidecypher.values.codec._tags import looks_tagged
from sidecypher.values.codec.problems import Coder, PartError, not_read, not_written

DEEPEST: Final = 90
"""Most levels of lists and maps in a value. The Java side allows 200 levels of JSON. A map in the
form of a tag needs two of them, the envelope and a path's own arrays about ten."""

# Not `list | tuple`, which would be made again at each use.
_LISTS: Final = (list, tuple)

any_encoders: Final[dict[type, Coder]] = {}
"""The coder of each class that is neither list nor map; filled by `kinds`, which has all types."""

any_encoders_of_subclasses: Final[list[tuple[type, Coder]]] = []
"""The same for their subclasses, in the order in which they are tried."""

tag_decoders: Final[dict[str, Coder]] = {}
"""The coder of each tag; filled by `kinds`."""


# Writing


def encode_any(value: Any, depth: int = 0) -> Any:
    """Write a value of any type, null too."""
    kind = type(value)
    if kind is str:
        return value if value.isascii() else encode_string(value)
    if value is None or value is True or value is False:
        return value
    encode = any_encoders.get(kind)
    if encode is not None:
        return encode(value)
    if kind is dict:
        return encode_map(value, depth)
    if kind is list or kind is tuple:
        return _encode_list(value, depth)
    return _encode_subclass(value, depth)


def encode_map(value: Any, depth: int = 0) -> Any:
    """Write a MAP of values of any type."""
    if not isinstance(value, dict):
        raise not_written(value, "MAP")
    if depth >= DEEPEST:
        raise _too_deep()
    below = depth + 1
    return _escaped(
        {
            key if type(key) is str and key.isascii() else encode_key(key): encode_any(item, below)
            for key, item in value.items()
        }
    )


def _encode_list(value: Any, depth: int) -> list[Any]:
    if depth >= DEEPEST:
        raise _too_deep()
    if are_plain(value):
        return list(value)
    below = depth + 1
    return [encode_any(item, below) for item in value]


def _encode_subclass(value: Any, depth: int) -> Any:
    """Write a value of a subclass."""
    for python_type, encode in any_encoders_of_subclasses:
        if isinstance(value, python_type):
            return encode(value)
    if isinstance(value, dict):
        return encode_map(value, depth)
    if isinstance(value, _LISTS):
        return _encode_list(value, depth)
    raise ValueTypeError(f"is a Python {type(value).__name__}, which has no Cypher type")


def list_encoder(encode_item: Coder, type_name: str) -> Coder:
    """Return the coder of a LIST whose items one coder writes."""

    def encode(value: Any) -> Any:
        if not isinstance(value, _LISTS):
            raise not_written(value, type_name)
        return [encode_item(item) for item in value]

    return encode


def map_encoder(encode_item: Coder) -> Coder:
    """Return the coder of a MAP whose values one coder writes."""

    def encode(value: Any) -> Any:
        if not isinstance(value, dict):
            raise not_written(value, "MAP")
        return _escaped({encode_key(key): encode_item(item) for key, item in value.items()})

    return encode


def encode_key(key: Any) -> Any:
    """Write a map's key."""
    if not isinstance(key, str):
        raise ValueTypeError(f"is a MAP with a key that is a Python {type(key).__name__}")
    return encode_string(key)


def _escaped(encoded: dict[str, Any]) -> dict[str, Any]:
    return {"$map": encoded} if looks_tagged(encoded) else encoded


def _too_deep() -> ValueTypeError:
    return ValueTypeError(f"nests deeper than {DEEPEST} levels, or holds itself")


# Reading


def decode_any(value: Any) -> Any:
    """Read a value of any type, null too."""
    kind = type(value)
    if kind is list:
        return decode_all(value)
    if kind is int:
        return in_64_bits(value)
    if kind is not dict:
        return value
    if not looks_tagged(value):
        return {key: decode_any(item) for key, item in value.items()}
    decode = tag_decoders.get(next(iter(value)))
    if decode is None:
        raise ValueTypeError("has a tag that this version does not know")
    return decode(value)


def decode_all(values: Sequence[Any]) -> Sequence[Any]:
    """Read many values of any type; return them as they are if JSON has them all."""
    if are_plain(values):
        return values
    return [decode_any(value) for value in values]


def decode_map(value: Any) -> Any:
    """Read a MAP of values of any type."""
    return {key: decode_any(item) for key, item in map_content(value).items()}


def list_decoder(decode_item: Coder, type_name: str) -> Coder:
    """Return the coder of a LIST whose items one coder reads."""

    def decode(value: Any) -> Any:
        if not isinstance(value, list):
            raise not_read(value, type_name)
        items = iter(value)
        try:
            return [decode_item(item) for item in items]
        except ValueTypeError as error:
            raise PartError.within(f"[{len(value) - length_hint(items) - 1}]", error) from None

    return decode


def map_decoder(decode_item: Coder) -> Coder:
    """Return the coder of a MAP whose values one coder reads."""

    def decode(value: Any) -> Any:
        return {key: decode_item(item) for key, item in map_content(value).items()}

    return decode


def map_content(value: Any) -> dict[str, Any]:
    """Return the JSON values of a MAP by its keys."""
    if not isinstance(value, dict):
        raise not_read(value, "MAP")
    if looks_tagged(value):
        content = value.get("$map")
        if not isinstance(content, dict):
            raise not_read(value, "MAP")
        return content
    return value
