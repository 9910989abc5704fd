"""What MkDocs asks when it makes the site.

Each page keeps the path it has in the repository, so one relative link is right in the site, on a
code host and in an editor. The README is the front page.
"""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
# What the pages link to outside of `docs`.
LINKED = ("LICENSE", "benchmarks/results/latest.json", "tests/conformance/values.json")

_ERROR = re.compile(r"^\| (?P<code>SC-\d{3}) \|", re.MULTILINE)
_ROW = re.compile(r"^\|.*$", re.MULTILINE)
_CODE = re.compile(r"`[^`\n]+`")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Give each file its path in the repository, and add those that are not in `docs`."""
    for file in list(files):
        if file.src_dir == config.docs_dir:
            files.remove(file)
    docs = [path for kind in ("md", "svg", "png") for path in ROOT.glob(f"docs/**/*.{kind}")]
    for path in sorted([*ROOT.glob("*.md"), *docs, *(ROOT / name for name in LINKED)]):
        name = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_others: object) -> str:
    """Write what MkDocs reads in another way than code hosts do, and give error codes anchors."""
    # A block has one language; `neo4j` tells the tests that it needs a server.
    markdown = markdown.replace("```python neo4j", "```python")
    # In a table's code a code host reads `\|` as a bar, MkDocs a bar as a bar.
    markdown = _ROW.sub(lambda row: _CODE.sub(_with_bars, row[0]), markdown)
    if page.file.src_uri == "docs/errors.md":
        markdown = _ERROR.sub(_with_anchor, markdown)
    return markdown


def _with_bars(code: re.Match[str]) -> str:
    return code[0].replace("\\|", "|")


def _with_anchor(row: re.Match[str]) -> str:
    """Make the line of SC-204 reachable as `docs/errors.html#sc-204`."""
    return f'| <a id="{row["code"].lower()}"></a>{row["code"]} |'
