"""The project's pages as data: fenced blocks, sections, tables and links."""

import json
import re
import types
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

CALL = re.compile(r"\bCALL\s+(?P<name>\w+(?:\.\w+)+)\s*\(")

_FENCE = re.compile(r"(?P<indent> *)```(?P<info>.*)")
_HEADING = re.compile(r"(?P<marks>#+) (?P<title>.+)")
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")
_ANSWERED = re.compile(r"^```cypher\n([^`]*)^```\n\n```text\n([^`]*)^```$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """One fenced block.

    Attributes:
        page: Path below the root of the repository.
        line: Number of the line before its first one.
        info: What stands behind the fence, such as `python`.
    """

    page: str
    line: int
    info: str
    text: str

    def __str__(self):
        return f"{self.page}:{self.line}"


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def page_named(name):
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(*infos, pages=PAGES):
    """Return the blocks of these kinds, in the order of pages and lines."""
    return [block for page in pages for block in _split(page)[0] if block.info in infos]


def cypher_blocks(namespace=""):
    """Return the Cypher examples of the pages; a real Neo4j must accept each of them.

    With a namespace such as `github`, only those that call nothing outside of it: a server without
    the procedures of the pages' own Python blocks can plan these.
    """
    found = blocks("cypher")
    return [block for block in found if all(n.startswith(namespace) for n in calls(block))]


def answered(name):
    """Return the Cypher blocks of a page that an answer stands below, each with its rows."""
    found = _ANSWERED.findall(page_named(name))
    return [
        (statement, [json.loads(f"[{line}]") for line in answer.splitlines()])
        for statement, answer in found
    ]


def calls(block):
    """Return the names of the procedures that a Cypher block calls."""
    return [match["name"] for match in CALL.finditer(block.text)]


def prose(page):
    """Return a page without its fenced blocks."""
    return _split(page)[1]


def headings(page):
    return [match["title"] for match in map(_HEADING.fullmatch, prose(page).splitlines()) if match]


def links(page):
    return [match["target"] for match in _LINK.finditer(prose(page))]


def inline_code(page):
    return _CODE.findall(prose(page))


def section(name, title):
    """Return the text below a heading, up to the next heading of its rank or a higher one."""
    lines = page_named(name).splitlines()
    titles = [(match := _HEADING.fullmatch(line)) and match["title"] for line in lines]
    found = [index for index, each in enumerate(titles) if each == title]
    assert len(found) == 1, f"{name} has {len(found)} headings `{title}`"
    rank = len(lines[found[0]]) - len(lines[found[0]].lstrip("#"))
    text = []
    for line in lines[found[0] + 1 :]:
        match = _HEADING.fullmatch(line)
        if match and len(match["marks"]) <= rank:
            break
        text.append(line)
    return "\n".join(text)


def rows(text, first):
    """Return the cells of every table whose first header cell is `first`."""
    found, inside = [], False
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not cells:
            inside = False
        elif cells[0] == first:
            inside = True
        elif inside and set(cells[0]) != {"-"}:
            found.append([cell.replace("\\|", "|") for cell in cells])
    return found


def code_in(cell):
    return _CODE.findall(cell)


def run_python(name):
    """Run a page's Python blocks in order; return the module they make up.

    A block marked `python neo4j` needs a server, so it is only compiled.
    """
    module = types.ModuleType("page_" + re.sub(r"\W", "_", name))
    for block in blocks("python", "python neo4j", pages=[ROOT / name]):
        code = compile("\n" * block.line + block.text, block.page, "exec", dont_inherit=True)
        if block.info == "python":
            exec(code, vars(module))
    return module


def _split(page):
    found, outside, opened = [], [], None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        fence = _FENCE.fullmatch(line)
        if opened is None and fence:
            opened, inside = (number, fence), []
        elif opened is None:
            outside.append(line)
        elif fence and not fence["info"]:
            start, begun = opened
            text = "\n".join(each.removeprefix(begun["indent"]) for each in inside) + "\n"
            found.append(Block(name_of(page), start, begun["info"], text))
            opened = None
        else:
            inside.append(line)
    assert opened is None, f"{name_of(page)} does not close its block of line {opened[0]}"
    return found, "\n".join(outside)
