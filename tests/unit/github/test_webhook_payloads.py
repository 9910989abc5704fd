"""What a payload is read for: the things it is about, and what the graph is told of it."""

import json

import msgspec
import pytest

from sidecypher_procedures.github.errors import InvalidWebhook
from sidecypher_procedures.github.webhooks.payload import (
    addresses,
    excerpt,
    name_of,
    part,
    read_body,
    read_payload,
)

REPOSITORY = {"id": 1, "name": "new", "owner": {"login": "octocat"}}


def about(event, **payload):
    return addresses(event, {"repository": REPOSITORY, **payload})


def test_an_event_is_about_its_issue_or_pull_request():
    """What is told about a number concerns that number, not the whole repository."""
    assert about("issues", issue={"number": 7}) == {("octocat", "new", 7)}
    assert about("pull_request_review", pull_request={"number": 8}) == {("octocat", "new", 8)}


@pytest.mark.parametrize("suite", ["check_run", "check_suite", "workflow_run"])
def test_a_check_is_about_its_pull_requests(suite):
    """Whether a pull request can be merged changes with its checks."""
    found = about(suite, **{suite: {"pull_requests": [{"number": 1}, {"number": 2}]}})

    assert found == {("octocat", "new", 1), ("octocat", "new", 2)}


def test_a_renamed_repository_is_known_by_both_names():
    """What was kept by the old name is as stale as what was kept by the new one."""
    changes = {"repository": {"name": {"from": "old"}}}

    found = about("repository", action="renamed", changes=changes)

    assert found == {("octocat", "new", None), ("octocat", "old", None)}


@pytest.mark.parametrize("kind", ["user", "organization"])
def test_a_transferred_repository_is_known_by_both_owners(kind):
    """Whether a person or an organisation had it."""
    changes = {"owner": {"from": {kind: {"login": "hubot"}}}}

    found = about("repository", action="transferred", changes=changes)

    assert found == {("octocat", "new", None), ("hubot", "new", None)}


def test_a_transferred_issue_is_known_at_both_ends():
    """The event of the repository it left, and that of the one it came to, name both."""
    there = {"new_issue": {"number": 1}, "new_repository": {"full_name": "hubot/other"}}
    back = {"old_issue": {"number": 7}, "old_repository": {"full_name": "hubot/other"}}

    left = about("issues", action="transferred", issue={"number": 7}, changes=there)
    came = about("issues", action="opened", issue={"number": 1}, changes=back)

    assert left == {("octocat", "new", 7), ("hubot", "other", 1)}
    assert came == {("octocat", "new", 1), ("hubot", "other", 7)}


def test_other_events_are_about_no_entry():
    """A star or a push makes nothing stale that a caller could not wait a minute for."""
    assert about("star") == about("push", commits=[{}]) == set()
    assert addresses("installation", {"installation": {}}) == set()


def test_the_graph_is_told_of_what_it_keeps():
    """Commits, comments and whatever else a payload has stay out of the queue."""
    payload = {"action": "opened", "issue": {"number": 7}, "commits": [1], "comment": {"body": ""}}

    assert json.loads(excerpt(payload)) == {"action": "opened", "issue": {"number": 7}}


def test_an_event_has_the_name_that_github_writes():
    """The action follows the event, if there is one that is a text."""
    names = [name_of("issues", {"action": action}) for action in ("opened", None, 7)]

    assert names == ["issues.opened", "issues", "issues"]


@pytest.mark.parametrize("text", ["", "7", "[]", "{", '"x"', "null", "\ud800", "[" * 10_000])
def test_what_is_no_object_is_refused(text):
    """The error says so without showing what it was."""
    with pytest.raises(InvalidWebhook, match="is no JSON") as caught:
        read_payload(text)

    assert caught.value.code == "SC-530"


def test_a_form_holds_the_payload_in_a_field():
    """With every character that JSON may have."""
    payload = {"zen": "Ä + & = %"}
    form = b"payload=" + "".join(f"%{b:02X}" for b in msgspec.json.encode(payload)).encode()

    assert read_body(form, "application/x-www-form-urlencoded") == payload


def test_what_is_not_there_is_none():
    """Names are followed through objects only."""
    assert part({"a": {"b": 1}}, "a", "b") == 1
    assert part({"a": [1]}, "a", "b") is part(None, "a") is part({}, "a", "b") is None
