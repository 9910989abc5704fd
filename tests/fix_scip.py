"""SCIP indexes, encoded here: what a test expects of the format is not what the reader expects."""

from textwrap import dedent

DEFINITION = 1


def _varint(number):
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


def number(field, value):
    """Encode a field with a number."""
    return _varint(field << 3) + _varint(value)


def part(field, content):
    """Encode a field with a text, bytes, or another message."""
    content = content.encode() if isinstance(content, str) else content
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def at(text, snippet, unit="utf-8"):
    """Return row, first column and end of what stands between bars in a snippet of a text."""
    before, name, after = snippet.split("|")
    assert text.count(before + name + after) == 1, snippet
    place = text.index(before + name + after) + len(before)
    line = text[:place].rpartition("\n")[2]
    start, end = (len(part.encode(unit)) // _UNITS[unit] for part in (line, line + name))
    return text[:place].count("\n"), start, end


_UNITS = {"utf-8": 1, "utf-16-le": 2, "utf-32-le": 4}


def occurrence(place, symbol, roles=0):
    """Encode a name at a place."""
    columns = b"".join(map(_varint, place))
    return part(1, columns) + part(2, symbol) + number(3, roles)


def document(path, *occurrences, encoding=1):
    """Encode what an index says of a file."""
    return b"".join([part(1, path), *(part(2, each) for each in occurrences), number(6, encoding)])


def index(*documents, root="file:///somewhere/else"):
    """Encode an index."""
    return part(1, part(3, root)) + b"".join(part(2, each) for each in documents)


GO = dedent(
    """\
    package shop

    type Cart struct{}
    type Tree struct{}

    func (c *Cart) Add() {}
    func (t *Tree) Add() {}

    func buy(c *Cart, t *Tree) {
    \tc.Add()
    \tt.Add()
    }
    """
)
"""A call that names cannot resolve: two types have the method."""


def go_document(text=GO, path="shop.go"):
    """Encode what an indexer for Go says of `GO`."""
    cart, tree = "go . shop . shop/Cart#Add().", "go . shop . shop/Tree#Add()."
    return document(
        path,
        occurrence(at(text, "type |Cart|"), "go . shop . shop/Cart#", DEFINITION),
        occurrence(at(text, "type |Tree|"), "go . shop . shop/Tree#", DEFINITION),
        occurrence(at(text, "*Cart) |Add|"), cart, DEFINITION),
        occurrence(at(text, "*Tree) |Add|"), tree, DEFINITION),
        occurrence(at(text, "func |buy|"), "go . shop . shop/buy().", DEFINITION),
        occurrence(at(text, "buy(|c|"), "local 1", DEFINITION),
        occurrence(at(text, "(c *|Cart|,"), "go . shop . shop/Cart#"),
        occurrence(at(text, ", |t| "), "local 2", DEFINITION),
        occurrence(at(text, "t *|Tree|) {\n"), "go . shop . shop/Tree#"),
        occurrence(at(text, "\t|c|."), "local 1"),
        occurrence(at(text, "\tc.|Add|"), cart),
        occurrence(at(text, "\t|t|."), "local 2"),
        occurrence(at(text, "\tt.|Add|"), tree),
    )
