"""The queries of the pages about code, run as they are printed."""

import json
import shlex
import subprocess
import sys
from itertools import pairwise

import pytest
from docs.pages import ROOT, blocks

NAMES = ("code", "code-trace", "code-queries", "code-procedures")
PAGES = [ROOT / f"docs/{name}.md" for name in NAMES]
ANYWHERE = "/srv/code"
TRACE = "python -m sidecypher_procedures.code.trace "


@pytest.mark.slow
def test_the_pages_show_what_queries_and_traces_return(server, session, code_root, shop):
    """Each query and each trace of the pages, in order, returns what is shown below it."""
    [parameters] = blocks("json", pages=PAGES)
    traces = 0

    for block, after in pairwise(blocks("cypher", "sh", "text", pages=PAGES)):
        if block.info == "cypher":
            text = block.text.replace(ANYWHERE, str(code_root))
            rows = session.run(text, json.loads(parameters.text)).values()
            assert rows == [json.loads(f"[{line}]") for line in after.text.splitlines()], block
        elif block.text.startswith(TRACE):
            done = subprocess.run(
                [sys.executable, *shlex.split(block.text)[1:]],
                cwd=shop,
                env=server.environ,
                capture_output=True,
                text=True,
                check=True,
            )
            assert [line.rstrip() for line in done.stdout.splitlines()] == after.text.splitlines()
            traces += 1

    assert traces == 1
