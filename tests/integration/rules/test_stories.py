"""The stories of docs/rules.md, statement by statement, on a real Neo4j."""

import re

import pytest
from docs.pages import section
from neo4j.exceptions import ClientError

_BLOCK = re.compile(r"```(cypher|text)\n(.*?)```", re.DOTALL)


def stories():
    text = section("docs/rules.md", "Three stories")
    return [
        story.partition("\n")[::2] for story in re.split(r"^### ", text, flags=re.MULTILINE)[1:]
    ]


@pytest.mark.parametrize(("title", "story"), stories(), ids=lambda each: each.partition("\n")[0])
def test_a_story_goes_as_it_is_told(session, title, story):
    """Each statement gives what stands below it: rows, or the beginning of an error."""
    blocks = _BLOCK.findall(story)

    for (kind, statement), (_, told) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if kind == "cypher":
            assert _run(session, statement, told) == told


def _run(session, statement, told):
    try:
        result = session.run(statement)
        columns, rows = result.keys(), [record.values() for record in result]
    except ClientError as error:
        return told if told.strip() in error.message else error.message
    if not columns:
        return told
    lines = [columns, *([_shown(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(" | ".join(map(str.ljust, line, widths)).rstrip() + "\n" for line in lines)


def _shown(value):
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    return "null" if value is None else str(value)
