"""What MkDocs asks when it makes the site.

Each page keeps the path it has in the repository, so one relative link is right in the site, on a
code host and in an editor. The README is the front page.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]

_LINK = re.compile(r"\]\((?P<target>[^)#\s]+)")
_ERROR = re.compile(r"^\| (?P<code>SC-\d{3}) \|", re.MULTILINE)
_NOTE = re.compile(r"^> \*\*(?P<kind>Warning|Note):?\*\*:? (?P<text>(?:.*\n> ?)*.*)$", re.MULTILINE)
_ROW = re.compile(r"^\|.*$", re.MULTILINE)
_CODE = re.compile(r"`[^`\n]+`")
_LINKED = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_FIRST_PARAGRAPH = re.compile(r"^(?:[A-Za-z`*\[].*\n)+", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Give each page its path in the repository, and add what they need, wherever it is."""
    for file in list(files):
        if file.src_dir == config.docs_dir:
            files.remove(file)
    pages = {*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")}
    styles = {ROOT / name for name in config.extra_css}
    for path in sorted(pages.union(styles, *map(_linked, pages))):
        name = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def _linked(page: Path) -> set[Path]:
    """Return the files of the repository that a page shows or links to."""
    targets = _LINK.findall(page.read_text(encoding="utf-8"))
    paths = {(page.parent / target).resolve() for target in targets}
    return {path for path in paths if path.is_file() and path.is_relative_to(ROOT)}


def on_page_markdown(markdown: str, *, page: Page, **_others: object) -> str:
    """Write what MkDocs reads in another way than code hosts do, and give error codes anchors."""
    # A block has one language; `neo4j` tells the tests that it needs a server.
    markdown = markdown.replace("```python neo4j", "```python")
    # In a table's code a code host reads `\|` as a bar, MkDocs a bar as a bar.
    markdown = _ROW.sub(lambda row: _CODE.sub(_with_bars, row[0]), markdown)
    markdown = _NOTE.sub(_boxed, markdown)
    if page.file.src_uri == "docs/errors.md":
        markdown = _ERROR.sub(_with_anchor, markdown)
    return markdown


def _boxed(note: re.Match[str]) -> str:
    """Make a box of a warning or note, which is a quotation on a code host."""
    lines = re.sub(r"\n> ?", "\n", note["text"]).splitlines()
    return "\n    ".join([f"!!! {note['kind'].lower()}", *lines])


def _with_bars(code: re.Match[str]) -> str:
    return code[0].replace("\\|", "|")


def _with_anchor(row: re.Match[str]) -> str:
    """Make the line of SC-204 reachable as `docs/errors.html#sc-204`."""
    return f'| <a id="{row["code"].lower()}"></a>{row["code"]} |'


def on_post_build(config: MkDocsConfig) -> None:
    """Write what language models read: `llms.txt` lists the pages, `llms-full.txt` has all of them.

    The form of the list is that of llmstxt.org.
    """
    site, nav = Path(config.site_dir), config.nav or []
    lines = [f"# {config.site_name}", "", f"> {config.site_description}", "", *_listed(nav)]
    (site / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    texts = [_text(path) for _, path in _entries(nav)]
    (site / "llms-full.txt").write_text("\n".join(texts), encoding="utf-8")


def _listed(nav: Iterable[Any]) -> Iterator[str]:
    """Yield a line for each page, below a heading for each section."""
    for item in nav:
        [(title, below)] = item.items()
        if isinstance(below, list):
            yield from ["", f"## {title}", ""]
        for name, path in _entries([item]):
            found = _FIRST_PARAGRAPH.search(_text(path))
            plain = _LINKED.sub(r"\1", " ".join(found[0].split())) if found else ""
            about = plain.partition(". ")[0].removesuffix(".")
            url = re.sub(r"(README)?\.md$", lambda end: "index.html" if end[1] else ".html", path)
            yield f"- [{name}]({url}): {about}"


def _entries(nav: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Yield title and path of each page; a page without a title has that of its first line."""
    for item in nav:
        if isinstance(item, str):
            yield _text(item).partition("\n")[0].removeprefix("# "), item
            continue
        [(title, below)] = item.items()
        if isinstance(below, list):
            yield from _entries(below)
        else:
            yield title, below


def _text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")
