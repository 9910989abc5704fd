"""The `code` procedures through Cypher."""

import itertools
from textwrap import dedent

import pytest
from fix_calls import Calls

_numbers = itertools.count()


class Repository:
    """A folder of source files, and what the procedures say of it.

    Attributes:
        id: Its id in the graph.
        folder: Where its files are.
    """

    def __init__(self, session, folder):
        self.id = folder.name
        self.session = session
        self.folder = folder
        self._calls = Calls(session, "code")

    def write(self, **files):
        """Write files: `__` in a name is a folder, and what follows the last `_` the suffix."""
        for name, text in files.items():
            stem, _, suffix = name.rpartition("_")
            path = self.folder / f"{stem.replace('__', '/')}.{suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text))

    def index(self, **options):
        return self._calls.one("index", self.id, str(self.folder), options)

    def index_anew(self, **options):
        """Index as if it was not known what the graph was made of: everything is compared."""
        forget = "MATCH (r:Repo {repo_id: $id}) REMOVE r.digest"
        self.session.run(forget, id=self.id).consume()
        return self.index(**options)

    def call(self, name, *arguments):
        return self._calls.call(name, self.id, *arguments)

    def callers(self, name, **options):
        """Return the callers of a function: qualified name, file and line."""
        rows = self.call("callers", name, options)
        return [(row["qualifiedName"], row["filePath"], row["line"]) for row in rows]

    def edges(self):
        return self.call("edges")


def indexed(session, folder, **files):
    """Return a repository with files, in the graph."""
    folder.mkdir()
    made = Repository(session, folder)
    made.write(**files)
    made.index()
    return made


def crowd_of(repository):
    """Return one whose id has the words of another's, and whose functions take all places."""
    functions = "".join(f"def shop_shop_{n}(): pass\n" for n in range(100))
    folder = repository.folder.with_name(f"{repository.id}-copy")
    return indexed(repository.session, folder, shop__shop_py=functions)


@pytest.fixture
def repository(session, code_root):
    """Make a repository with files; each call makes another one."""

    def make(**files):
        folder = code_root / f"repository-{next(_numbers)}"
        folder.mkdir()
        made = Repository(session, folder)
        made.write(**files)
        return made

    return make


@pytest.fixture
def code(session):
    return Calls(session, "code")
