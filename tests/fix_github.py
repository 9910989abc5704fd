"""A GitHub of a test's own, served by the replay in place of the recorded one."""

import itertools

import pytest
from recorded import Recordings

ANN = {"login": "ann", "id": 11, "type": "User"}
BOB = {"login": "bob", "id": 12, "type": "User"}
_MOMENTS = {"created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:05Z"}
_ids = itertools.count(1_000)


class World:
    """A GitHub of a test's own, with names that no answer is cached for."""

    def __init__(self, replay, monkeypatch):
        self._replay = replay
        self._monkeypatch = monkeypatch
        self._objects = []
        self.name = f"r{next(_ids)}"

    def repository(self, name=None, owner=ANN, id_=None, **fields):
        name = name or self.name
        return self._add(
            f"{owner['login']}/{name}",
            id=id_ or next(_ids),
            name=name,
            full_name=f"{owner['login']}/{name}",
            owner=owner,
            html_url=f"https://github.com/{owner['login']}/{name}",
            default_branch="main",
            **fields,
        )

    def issue(self, number, user=ANN, where=None, **fields):
        where = where or f"ann/{self.name}"
        return self._add(
            f"{where}/issues/{number}",
            id=next(_ids),
            number=number,
            user=user,
            **{"repository_url": f"https://api.github.com/repos/{where}", **fields},
        )

    def pull_request(self, number, body, user=ANN, base="main", **fields):
        where = f"ann/{self.name}"
        base = {"ref": base, "repo": {"full_name": where}}
        return self._add(
            f"{where}/pulls/{number}",
            id=next(_ids),
            number=number,
            user=user,
            body=body,
            base=base,
            additions=1,
            **fields,
        )

    def comment(self, number, id_):
        where = f"ann/{self.name}/issues"
        issue = f"https://api.github.com/repos/{where}/{number}"
        return self._add(f"{where}/comments/{id_}", id=id_, user=BOB, issue_url=issue)

    def _add(self, path, **fields):
        entity = {"url": f"https://api.github.com/repos/{path}", **_MOMENTS, **fields}
        self._objects.append(entity)
        self._monkeypatch.setattr(self._replay, "objects", Recordings(self._objects))
        return str(fields["id"])


@pytest.fixture
def world(github, monkeypatch):
    """A GitHub of the test's own."""
    return World(github, monkeypatch)
