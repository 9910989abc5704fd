"""The entities that a text names, such as an issue or a pull request."""

import re
from collections.abc import Iterator
from typing import Any, Final, LiteralString

from sidecypher_procedures.code.errors import BadQuery
from sidecypher_procedures.code.queries import check_repository
from sidecypher_procedures.code.rows import Mention
from sidecypher_procedures.code.store import Run
from sidecypher_procedures.code.words import is_plain

LONGEST_TEXT: Final = 1_000_000
MOST_MENTIONS: Final = 200
"""The most names and places of a text that are looked for."""

_AMBIGUOUS: Final = 5
"""The most entities with one name that are a mention: more say nothing."""

_NAME: Final = re.compile(r"(?<![\w/])[^\W\d]\w*(?:(?:\.|::|#)[^\W\d]\w*)*")
_PATH: Final = re.compile(r"(?<![\w./-])((?:[\w.-]+/)*[\w-]+\.[a-z]{1,4})(?::(\d+)|#L(\d+))?")

_BY_NAME: Final[LiteralString] = """
    UNWIND $names AS name
    CALL (name) {
        MATCH (e:Entity {repo_id: $repoId, name_lower: toLower(name.last)})
        WHERE e.name = name.last AND e.type IN ['function', 'class', 'variable'] AND
            ('.' + e.qualified_name) ENDS WITH ('.' + name.text)
        RETURN collect(e) AS found
    }
    WITH name, found WHERE size(found) <= $most
    UNWIND found AS e
    RETURN e.id AS entity_id, e.name AS name, e.qualified_name AS qualified_name,
        e.type AS type, e.file_path AS file_path, e.start_line AS start_line,
        name.mention AS mention, name.confidence / size(found) AS confidence
"""
_BY_PLACE: Final[LiteralString] = """
    UNWIND $places AS place
    MATCH (e:Entity {repo_id: $repoId, file_path: place.file})
    WHERE e.type <> 'import' AND CASE place.line
        WHEN null THEN e.type = 'module'
        ELSE e.start_line <= place.line AND place.line <= e.end_line END
    WITH place, e ORDER BY e.end_line - e.start_line, e.id
    WITH place, collect(e)[0] AS e
    RETURN e.id AS entity_id, e.name AS name, e.qualified_name AS qualified_name,
        e.type AS type, e.file_path AS file_path, e.start_line AS start_line,
        place.mention AS mention, 1.0 AS confidence
"""


async def mentions(run: Run, repo_id: str, text: str) -> list[Mention]:
    """Return the entities that a text names, the surest first.

    A word of plain English is a name only if it is marked as code or followed by a parenthesis.

    Raises:
        UnknownRepository: The repository is not indexed.
        BadQuery: The text is too long.
    """
    await check_repository(run, repo_id)
    if len(text) > LONGEST_TEXT:
        raise BadQuery(f"The text is longer than {LONGEST_TEXT} characters")
    found: dict[str, Mention] = {}
    records = [
        *await run(_BY_PLACE, repoId=repo_id, places=[*_places(text)][:MOST_MENTIONS]),
        *await run(
            _BY_NAME, repoId=repo_id, names=[*_names(text)][:MOST_MENTIONS], most=_AMBIGUOUS
        ),
    ]
    for record in records:
        mention = Mention(**record)
        known = found.get(mention.entity_id)
        if known is None or known.confidence < mention.confidence:
            found[mention.entity_id] = mention
    return sorted(found.values(), key=lambda each: (-each.confidence, each.entity_id))


def _names(text: str) -> Iterator[dict[str, Any]]:
    seen: set[str] = set()
    for match in _NAME.finditer(text):
        name = match[0].replace("::", ".").replace("#", ".")
        before, after = text[: match.start()][-1:], text[match.end() :][:1]
        is_code = before == "`" or after == "("
        if name in seen or (is_plain(name) and not is_code):
            continue
        seen.add(name)
        yield {
            "text": name,
            "last": name.rpartition(".")[2],
            "mention": match[0],
            "confidence": 1.0 if is_code or "." in name else 0.8,
        }


def _places(text: str) -> Iterator[dict[str, Any]]:
    for file, *lines in dict.fromkeys(match.groups() for match in _PATH.finditer(text)):
        line = next((int(each) for each in lines if each), None)
        mention = file if line is None else f"{file}:{line}"
        yield {"file": file, "line": line, "mention": mention}
