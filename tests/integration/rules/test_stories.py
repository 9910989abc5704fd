"""The examples of the pages about rules, statement by statement, on a real Neo4j."""

import re

import pytest
from docs.pages import section
from neo4j.exceptions import ClientError

_BLOCK = re.compile(r"```(cypher|text)\n(.*?)```", re.DOTALL)


def stories():
    text = section("docs/rules.md", "Recipes")
    recipes = [
        recipe.partition("\n")[::2] for recipe in re.split(r"^### ", text, flags=re.MULTILINE)[1:]
    ]
    return [
        ("Your first rule", section("docs/rules.md", "Your first rule")),
        *recipes,
        ("Forgetting", section("docs/rules-concepts.md", "Forgetting")),
    ]


@pytest.mark.parametrize(("title", "story"), stories(), ids=lambda each: each.partition("\n")[0])
def test_a_story_goes_as_it_is_told(session, title, story):
    """Each statement gives what stands below it: rows, or the beginning of an error."""
    blocks = _BLOCK.findall(story)

    for (kind, statement), (after, told) in zip(blocks, [*blocks[1:], ("cypher", "")], strict=True):
        if kind == "cypher":
            given = _run(session, statement)
            assert told.strip() in given if after == "text" else given == ""


def _run(session, statement):
    """Return the rows as the page shows them, nothing of a write, or the text of an error."""
    try:
        result = session.run(statement)
        columns, rows = result.keys(), [record.values() for record in result]
    except ClientError as error:
        return error.message
    if not columns:
        return ""
    lines = [columns, *([_shown(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(" | ".join(map(str.ljust, line, widths)).rstrip() + "\n" for line in lines)


def _shown(value):
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)
