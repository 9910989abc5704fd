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

_CODE = re.compile(r"^\| (?P<code>SC-\d{3}) \|", re.MULTILINE)


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
    """Give the line of each error code an anchor, such as `docs/errors.html#sc-204`."""
    if page.file.src_uri != "docs/errors.md":
        return markdown
    return _CODE.sub(
        lambda match: f'| <a id="{match["code"].lower()}"></a>{match["code"]} |', markdown
    )
