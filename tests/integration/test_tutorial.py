"""docs/tutorial.md, walked through from its first block to its last, by the real commands."""

import itertools
import json
import shlex
import subprocess

import neo4j
import pytest
from docs.pages import ROOT, blocks
from fix_running import Running
from neo4j.exceptions import Neo4jError

from sidecypher.cli.status import read_status
from sidecypher.host.settings import load_settings

PAGE = blocks(
    *("sh", "python", "cypher", "text"),
    pages=[ROOT / "docs/tutorial.md"],
)


class Reader:
    """Does what the page says, in the order in which it says it; `bare` begins each command."""

    def __init__(self, folder, bare):
        self.folder = folder
        self.bare = bare
        self.dev = None
        self.told = None
        """Gives what the last block has printed, once a text is in it."""

    def follow(self, block):
        path, _, content = block.text.partition("\n")
        if path.startswith(("# ", "// ")):
            self.save(path.split()[1], content)
        elif block.info == "sh":
            for line in block.text.splitlines():
                self.type(shlex.split(line))
        elif block.info == "cypher":
            shown = self.paste(block.text)
            self.told = lambda _text: shown
        else:
            for line in block.text.splitlines():
                assert line in self.told(line), block

    def type(self, words):
        if words[0] == "cd":
            self.folder /= words[1]
        elif words == ["sidecypher", "dev"]:
            self.dev = Running(None, *words, cwd=self.folder, program=self.bare)
            self.told = self.dev.printed
        else:
            done = subprocess.run(
                [*map(str, self.bare), *words],
                cwd=self.folder,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            self.told = lambda _text: done.stdout

    def save(self, path, content):
        mark = len(self.dev.lines)
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        self.told = lambda text: self.dev.printed(text, mark)

    def paste(self, statement):
        """Return the rows as the plain form of cypher-shell has them, or the error."""
        settings = load_settings({"home": self.folder / ".sidecypher"}, {})
        facts = read_status(settings)
        password = (settings.home / "neo4j-password").read_text().strip()
        with neo4j.GraphDatabase.driver(facts["bolt"], auth=("neo4j", password)) as driver:
            try:
                found = driver.execute_query(statement)
            except Neo4jError as error:
                return error.message
        rows = [", ".join(json.dumps(value) for value in record) for record in found.records]
        return "\n".join([", ".join(found.keys), *rows])


@pytest.mark.deep
@pytest.mark.timeout(600)
def test_every_block_of_the_tutorial_does_what_it_says(
    bare, installation, eclipse_compiler, tmp_path
):
    """Whoever has the wheel and Python alone, and follows the page, sees what it shows."""
    reader = Reader(tmp_path, bare)
    try:
        for block in PAGE:
            reader.follow(block)
    finally:
        code = reader.dev.end() if reader.dev else None

    assert code == 0
    assert "next: sidecypher test" in reader.dev.text()


def test_the_tutorial_begins_with_the_shortest_way():
    """Until the first rows a reader has to type four lines."""
    lines = itertools.chain.from_iterable(
        block.text.splitlines() for block in PAGE if block.info == "sh"
    )

    assert [line.split()[1] for line in itertools.islice(lines, 4)] == [
        *("init", "people", "dev", "call"),
    ]
