"""The words of identifiers and texts, as the full-text indexes keep them."""

import re
from collections.abc import Iterator
from typing import Final

# An acronym before a word, a word with or without a capital, and capitals alone.
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\WA-Z\d_]+|[A-Z]|\d+")
_IDENTIFIER: Final = re.compile(r"[^\W\d]\w*(?:(?:\.|::|#)[^\W\d]\w*)*")
_SEPARATOR: Final = re.compile(r"::|#")


def lines_of(text: str) -> list[str]:
    r"""Return the lines of a text as grammars and git count them: a form feed ends none.

    Example:
        >>> lines_of("a\x0cb\r\nc\n")
        ['a\x0cb', 'c']
    """
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def words(text: str) -> Iterator[str]:
    """Return the words of a text, with identifiers taken apart, in lower case.

    Example:
        >>> list(words("def parseHTTPUrl(source_text): return 2"))
        ['def', 'parse', 'http', 'url', 'source', 'text', 'return', '2']
    """
    return map(str.lower, _PART.findall(text))


def identifiers(text: str) -> Iterator[str]:
    """Yield what may be a name of a definition; names of Rust and Ruby with dots, too.

    Example:
        >>> list(identifiers("who calls Cart::add, and shop.price_of?"))
        ['who', 'calls', 'Cart.add', 'and', 'shop.price_of']
    """
    for found in _IDENTIFIER.finditer(text):
        yield _SEPARATOR.sub(".", found[0])


def is_plain(identifier: str) -> bool:
    """Return whether an identifier may be a word of English, such as ``add``.

    Example:
        >>> is_plain("Add"), is_plain("add_item"), is_plain("addItem"), is_plain("cart.add")
        (True, False, False, False)
    """
    return identifier.isalpha() and (identifier.islower() or identifier.istitle())
