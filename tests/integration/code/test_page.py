"""The queries of docs/code.md, run as the page prints them."""

import json
import shutil
from itertools import pairwise

from docs.pages import ROOT, blocks

PAGE = ROOT / "docs/code.md"
ANYWHERE = "/srv/code"


def test_the_queries_of_the_page_give_the_rows_that_it_shows(session, code_root):
    """Each query of the page, in order, gives the rows that stand below it."""
    shutil.copytree(ROOT / "docs/shop", code_root / "shop")
    found = blocks("cypher", "text", pages=[PAGE])
    [parameters] = blocks("json", pages=[PAGE])
    pairs = [(block.text, after.text) for block, after in pairwise(found) if block.info == "cypher"]

    for query, shown in pairs:
        text = query.replace(ANYWHERE, str(code_root))
        rows = session.run(text, json.loads(parameters.text)).values()
        assert rows == [json.loads(f"[{line}]") for line in shown.splitlines()], query
