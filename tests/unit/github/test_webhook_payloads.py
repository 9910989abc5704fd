"""What a payload is read for: the things it is about, and what the graph is told of it."""

import json

import msgspec
import pytest

from sidecypher_procedures.github.entities import nested
from sidecypher_procedures.github.errors import InvalidWebhook
from sidecypher_procedures.github.model import Extent
from sidecypher_procedures.github.webhooks.payload import (
    addresses,
    excerpt,
    name_of,
    read_body,
    read_payload,
)

REPOSITORY = {"id": 1, "name": "new", "owner": {"login": "octocat"}}


ITSELF = ("octocat", "new", None, Extent.ITSELF)
WHOLE = ("octocat", "new", None, Extent.ALL)


def about(event, **payload):
    return addresses(event, {"repository": REPOSITORY, **payload})


def test_an_event_is_about_its_issue_or_pull_request():
    """What is told about a number concerns that number and the repository's counts, not others."""
    assert about("issues", issue={"number": 7}) == {ITSELF, ("octocat", "new", 7, Extent.ITSELF)}
    assert about("pull_request_review", pull_request={"number": 8}) == {
        ITSELF,
        ("octocat", "new", 8, Extent.ITSELF),
    }


@pytest.mark.parametrize("suite", ["check_run", "check_suite", "workflow_run"])
def test_a_check_is_about_its_pull_requests(suite):
    """Whether a pull request can be merged changes with its checks."""
    found = about(suite, **{suite: {"pull_requests": [{"number": 1}, {"number": 2}]}})

    assert found == {
        ITSELF,
        ("octocat", "new", 1, Extent.ITSELF),
        ("octocat", "new", 2, Extent.ITSELF),
    }


@pytest.mark.parametrize("event", ["label", "milestone", "branch_protection_rule", "public"])
def test_what_names_nothing_is_about_all(event):
    """A label may have another name."""
    assert about(event) == {WHOLE}


def test_a_push_is_about_all_pull_requests():
    """Any of them may no longer be mergeable after it, but it changes no issue."""
    assert about("push") == {("octocat", "new", None, Extent.PULL_REQUESTS)}


def test_a_star_is_about_the_repository_itself():
    """It changes a count, and no issue."""
    assert about("star") == {ITSELF}


def test_a_renamed_repository_is_known_by_both_names():
    """What was kept by the old name is as stale as what was kept by the new one."""
    changes = {"repository": {"name": {"from": "old"}}}

    found = about("repository", action="renamed", changes=changes)

    assert found == {WHOLE, ("octocat", "old", None, Extent.ALL)}


@pytest.mark.parametrize("kind", ["user", "organization"])
def test_a_transferred_repository_is_known_by_both_owners(kind):
    """Whether a person or an organisation had it."""
    changes = {"owner": {"from": {kind: {"login": "hubot"}}}}

    found = about("repository", action="transferred", changes=changes)

    assert found == {WHOLE, ("hubot", "new", None, Extent.ALL)}


def test_a_transferred_issue_is_known_at_both_ends():
    """The event of the repository it left, and that of the one it came to, name both."""
    there = {"new_issue": {"number": 1}, "new_repository": {"full_name": "hubot/other"}}
    back = {"old_issue": {"number": 7}, "old_repository": {"full_name": "hubot/other"}}
    other = ("hubot", "other", None, Extent.ITSELF)

    left = about("issues", action="transferred", issue={"number": 7}, changes=there)
    came = about("issues", action="opened", issue={"number": 1}, changes=back)

    assert left == {
        ITSELF,
        other,
        ("octocat", "new", 7, Extent.ITSELF),
        ("hubot", "other", 1, Extent.ITSELF),
    }
    assert came == {
        ITSELF,
        other,
        ("octocat", "new", 1, Extent.ITSELF),
        ("hubot", "other", 7, Extent.ITSELF),
    }


def test_an_event_of_no_repository_is_about_no_entry():
    """Such as an installation of an App."""
    assert addresses("installation", {"installation": {}}) == set()


def test_the_graph_is_told_of_what_it_keeps():
    """Commits and whatever else a payload has stay out of the queue; a comment may be an answer."""
    kept = {"action": "opened", "issue": {"number": 7}, "comment": {"body": ""}}

    assert json.loads(excerpt({**kept, "commits": [1], "review": {"body": ""}})) == kept


def test_an_event_has_the_name_that_github_writes():
    """The action follows the event, if there is one that is a text."""
    names = [name_of("issues", {"action": action}) for action in ("opened", None, 7)]

    assert names == ["issues.opened", "issues", "issues"]


@pytest.mark.parametrize(
    "text", ["", "7", "[]", "{", '"x"', "null", "\ud800", pytest.param("[" * 10_000, id="deep")]
)
def test_what_is_no_object_is_refused(text):
    """The error says so without showing what it was."""
    with pytest.raises(InvalidWebhook, match=r"is not (a )?JSON") as caught:
        read_payload(text)

    assert caught.value.code == "SC-530"


def test_a_form_holds_the_payload_in_a_field():
    """With every character that JSON may have."""
    payload = {"zen": "Ä + & = %"}
    form = b"payload=" + "".join(f"%{b:02X}" for b in msgspec.json.encode(payload)).encode()

    assert read_body(form, "application/x-www-form-urlencoded") == payload


def test_what_is_not_there_is_none():
    """Names are followed through objects only."""
    assert nested({"a": {"b": 1}}, "a", "b") == 1
    assert nested({"a": [1]}, "a", "b") is nested(None, "a") is nested({}, "a", "b") is None
