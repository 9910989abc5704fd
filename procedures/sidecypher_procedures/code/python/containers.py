"""What lists, tuples, sets and dicts do with what they hold."""

from collections.abc import Callable
from typing import Final

from sidecypher_procedures.code.python.values import Arguments, Container, Literal, Value, Variable


def read(of: Container, key: Variable, result: Variable) -> None:
    """Let what is under a key flow into a variable."""
    of.other.flow_to(result)
    if not key.values:
        # The key may be anything.
        of.every.flow_to(result)
    key.each(
        lambda value: (of.item(value.value) if isinstance(value, Literal) else of.every).flow_to(
            result
        )
    )


def store(of: Container, key: Variable, source: Variable) -> None:
    """Put something under a key."""
    key.flow_to(of.keys)
    if not key.values:
        source.flow_to(of.other)
    key.each(
        lambda value: source.flow_to(
            of.item(value.value) if isinstance(value, Literal) else of.other
        )
    )


def update(of: Container, value: Value) -> None:
    """Take over what another container holds."""
    if isinstance(value, Container):
        for key in [*value.items]:
            value.item(key).flow_to(of.item(key) if value.is_dict else of.other)
        value.other.flow_to(of.other)
        value.keys.flow_to(of.keys)


def call_method(
    of: Container, name: str, arguments: Arguments, result: Variable, new: Callable[[], Container]
) -> None:
    """Call a method of a container."""
    positional = arguments.positional
    if name in _ADDED_AT and len(positional) > _ADDED_AT[name]:
        positional[_ADDED_AT[name]].flow_to(of.other)
    elif name in {"extend", "update"}:
        _call_update(of, arguments)
    elif name in {"get", "pop", "setdefault"}:
        _call_get(of, name, positional, result)
    elif name in {"popleft", "popitem"}:
        of.every.flow_to(result)
    elif name == "values":
        values = new()
        of.every.flow_to(values.other)
        result.add(values)
    elif name == "items":
        pairs, pair = new(), new()
        of.keys.flow_to(pair.item(0))
        of.every.flow_to(pair.item(1))
        pairs.other.add(pair)
        result.add(pairs)
    elif name == "copy":
        result.add(of)


def _call_update(of: Container, arguments: Arguments) -> None:
    for given in arguments.positional[:1]:
        given.each(lambda value: update(of, value))
    for key, value in arguments.named.items():
        value.flow_to(of.item(key))


def _call_get(of: Container, name: str, positional: list[Variable], result: Variable) -> None:
    if not positional:
        of.every.flow_to(result)
        return
    read(of, positional[0], result)
    for default in positional[1:]:
        default.flow_to(result)
        if name == "setdefault":
            default.flow_to(of.other)


_ADDED_AT: Final = {"append": 0, "add": 0, "appendleft": 0, "insert": 1}
"""Methods that add an argument, with its place."""
