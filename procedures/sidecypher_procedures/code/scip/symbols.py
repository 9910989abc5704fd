"""The names in SCIP symbols, such as ``Cart`` and ``add`` in ``... `cart.ts`/Cart#add().``."""

from functools import lru_cache
from typing import Final, NamedTuple

_LOCAL: Final = "local "
_SIMPLE: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-$"
"""The characters of a name that is not in backticks."""


class Symbol(NamedTuple):
    """The names of a symbol.

    Attributes:
        name: What a text that names it is; "" if it says nothing of that, as a constructor's does.
        owner: The name of what it is in; "" if it is in nothing.
        outer: The symbol of what it is in.
    """

    name: str
    owner: str
    outer: str


def is_local(symbol: str) -> bool:
    """Return whether a symbol is known in its document only."""
    return symbol.startswith(_LOCAL)


def is_type(symbol: str) -> bool:
    """Return whether a symbol is a class, an interface or another type."""
    return symbol.endswith("#")


def is_module(symbol: str) -> bool:
    """Return whether a symbol is a module or a package."""
    return symbol.endswith("/")


@lru_cache(maxsize=100_000)
def symbol_of(text: str) -> Symbol:
    """Take a symbol apart.

    Example:
        >>> symbol_of("scip-typescript npm . . `cart.ts`/Cart#add().")[:2]
        ('add', 'Cart')
        >>> symbol_of("scip-typescript npm . . `cart.ts`/Cart#`<constructor>`().")[:2]
        ('', 'Cart')
    """
    if is_local(text):
        return Symbol("", "", "")
    outer, name = _split(text)
    # Modules and packages are called otherwise where they are named; `:` follows invented names.
    is_named = not is_module(text) and not text.endswith(":")
    # Such as `<get>total` and `<init>`.
    return Symbol(name.rpartition(">")[2] if is_named else "", _split(outer)[1], outer)


def _split(symbol: str) -> tuple[str, str]:
    """Return what comes before the last name of a symbol, and that name."""
    end = symbol.rfind("(") if symbol.endswith(").") else -1
    bare = symbol[:end]
    if bare.endswith("`"):
        before, _, name = bare[:-1].rpartition("`")
        return before, name
    before = bare.rstrip(_SIMPLE)
    return before, bare[len(before) :]
