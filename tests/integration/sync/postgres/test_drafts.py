"""Drafts in PostgreSQL, and what the graph knows of them."""

import asyncio

import psycopg
import pytest
from fix_waiting import wait_until

from sidecypher_procedures.sync.errors import DraftClosed, InvalidEvent, UnknownDraft
from sidecypher_procedures.sync.postgres.drafts import Drafts


@pytest.fixture
def drafts():
    return Drafts()


@pytest.fixture
def conn(outbox):
    """A connection of a program."""
    with psycopg.connect(outbox.postgres.url) as conn:
        yield conn


def test_a_draft_is_edited_approved_and_published(conn, drafts):
    """Each step is recorded with its user, and the draft says how it stands."""
    draft = drafts.create(conn, "r", content="one", user_id="ann", metadata={"tags": ["a"]})
    assert (draft.status, draft.version, draft.metadata) == ("draft", 1, {"tags": ["a"]})
    assert drafts.edit(conn, draft.id, content="two", user_id="ann", message="shorter").version == 2
    drafts.approve(conn, draft.id, user_id="bob")
    drafts.publish(conn, draft.id, user_id="bob")
    found = drafts.read(conn, draft.id)
    assert (found.status, found.content, found.version) == ("published", "two", 2)
    done = [(each.action, each.user_id, each.version) for each in drafts.actions(conn, draft.id)]
    assert done == [
        ("create", "ann", 1),
        ("edit", "ann", 2),
        ("approve", "bob", 2),
        ("publish", "bob", 2),
    ]


def test_a_closed_draft_cannot_be_changed(conn, drafts):
    """What was published or discarded stays as it is."""
    one = drafts.create(conn, "r", content="one", user_id="ann")
    other = drafts.create(conn, "r", content="two", user_id="ann")
    drafts.publish(conn, one.id, user_id="ann")
    drafts.discard(conn, other.id, user_id="ann")
    for draft in (one, other):
        with pytest.raises(DraftClosed):
            drafts.edit(conn, draft.id, content="three", user_id="ann")
        with pytest.raises(DraftClosed):
            drafts.publish(conn, draft.id, user_id="ann")
    assert [each.id for each in drafts.list(conn, "r", status="published")] == [one.id]
    assert [each.id for each in drafts.list(conn, "r")] == [one.id, other.id]


def test_a_change_that_is_refused_leaves_the_draft_as_it_was(conn, drafts):
    """A program may catch the error and commit: no draft is changed without its event."""
    draft = drafts.create(conn, "r", content="one", user_id="ann")
    with pytest.raises(InvalidEvent, match="user"):
        drafts.publish(conn, draft.id, user_id=" ")
    with pytest.raises(InvalidEvent, match="bytes"):
        drafts.edit(conn, draft.id, content="two", user_id="ann", message="x" * 2_000_000)
    with pytest.raises(InvalidEvent, match="user"):
        drafts.create(conn, "r", content="two", user_id="")
    with pytest.raises(InvalidEvent, match="64 bits"):
        drafts.create(conn, "r", content="two", user_id="ann", metadata={"planId": 2**64})
    conn.commit()
    assert drafts.list(conn, "r") == (draft,)
    assert [each.action for each in drafts.actions(conn, draft.id)] == ["create"]


def test_a_draft_that_is_not_there_is_told(conn, drafts):
    """An unknown id, and ids that nobody can have, are errors of their own."""
    with pytest.raises(UnknownDraft, match="nothing"):
        drafts.read(conn, "nothing")
    with pytest.raises(UnknownDraft, match="nothing"):
        drafts.discard(conn, "nothing", user_id="ann")
    with pytest.raises(InvalidEvent, match="run"):
        drafts.create(conn, "", content="x", user_id="ann")
    with pytest.raises(InvalidEvent, match="user"):
        drafts.create(conn, "r", content="x", user_id=" ")


def test_a_rolled_back_change_leaves_neither_action_nor_event(outbox, drafts):
    """Draft, action and event are written in the program's transaction, or not at all."""
    with psycopg.connect(outbox.postgres.url) as conn:
        draft = drafts.create(conn, "r", content="one", user_id="ann")
    with psycopg.connect(outbox.postgres.url) as conn:
        drafts.publish(conn, draft.id, user_id="ann")
        conn.rollback()
        assert drafts.read(conn, draft.id).status == "draft"
        assert len(drafts.actions(conn, draft.id)) == 1
    assert len(outbox.rows("r")) == 1


@pytest.mark.slow
def test_actions_of_users_become_events_of_the_run(outbox, drafts):
    """The run has an event for each action, an approval as a comment of its user."""
    run = outbox.new_run()
    outbox.start()

    async def work():
        async with await psycopg.AsyncConnection.connect(outbox.postgres.url) as conn:
            draft = await drafts.create(conn, run, content="one", user_id="ann")
            await drafts.approve(conn, draft.id, user_id="bob", message="Go on")
            await drafts.publish(conn, draft.id, user_id="bob")
        return draft

    draft = asyncio.run(work())
    wait_until(lambda: len(outbox.runs.call("events", run, {})) == 3)
    events = [row["event"] for row in outbox.runs.call("events", run, {})]
    assert [(each["type"], each["content"]) for each in events] == [
        ("status", "Draft created"),
        ("reviewComment", "Go on"),
        ("status", "Draft published"),
    ]
    assert {each["metadata"]["draftId"] for each in events} == {draft.id}
    assert [each["metadata"]["userId"] for each in events] == ["ann", "bob", "bob"]


@pytest.mark.slow
def test_users_decide_about_a_plan_by_its_draft(outbox, drafts):
    """`approve` approves the plan, and `discard` rejects it, each with the user's words."""
    run = outbox.new_run()
    plans = [outbox.runs.one("plan.create", run, {"content": each})["id"] for each in "ab"]
    for plan in plans:
        outbox.runs.one("plan.review", plan, "ann")
    with psycopg.connect(outbox.postgres.url) as conn:
        one, other = (
            drafts.create(conn, run, content="?", user_id="ann", metadata={"planId": plan})
            for plan in plans
        )
        drafts.approve(conn, one.id, user_id="bob", message="go")
        drafts.approve(conn, one.id, user_id="bob", message="go")
        drafts.discard(conn, other.id, user_id="bob", message="too large")
    outbox.start()
    wait_until(lambda: outbox.status()["waiting"] == 0)
    decided = [outbox.runs.call("plan.history", plan)[-1] for plan in plans]
    assert [(each["action"], each["userId"], each["message"]) for each in decided] == [
        ("APPROVES", "bob", "go"),
        ("REJECTS", "bob", "too large"),
    ]
    assert not outbox.dead()


@pytest.mark.slow
def test_a_decision_that_cannot_be_made_is_a_dead_letter(outbox, drafts):
    """A plan that is not there, or that nobody reviews, parks the run of the draft."""
    run = outbox.new_run()
    with psycopg.connect(outbox.postgres.url) as conn:
        draft = drafts.create(conn, run, content="?", user_id="ann", metadata={"planId": "missing"})
        drafts.approve(conn, draft.id, user_id="bob")
    outbox.start()
    [letter] = outbox.await_dead(1)
    assert letter["code"].startswith("SC-9")
    assert "missing" in letter["reason"]


@pytest.mark.slow
def test_the_graph_lists_drafts_and_broken_references(outbox, drafts, server, another_sidecar):
    """`runs.drafts` lists the drafts of a run; `runs.checkReferences` what lacks its other side."""
    run = outbox.new_run()
    outbox.start()
    with psycopg.connect(outbox.postgres.url) as conn:
        kept = drafts.create(conn, run, content="one", user_id="ann", metadata={"tags": ["a"]})
        deleted = drafts.create(conn, run, content="two", user_id="ann")
        lost = drafts.create(conn, "nowhere", content="three", user_id="ann")
    wait_until(lambda: len(outbox.runs.call("events", run, {})) == 2)
    outbox.postgres.run("DELETE FROM sidecypher.drafts WHERE id = %s", deleted.id)
    with server.sidecar_down():
        another_sidecar(**outbox.variables)
        [row] = outbox.runs.call("drafts", run)
        assert (row["id"], row["content"], row["metadata"]) == (kept.id, "one", {"tags": ["a"]})
        found = {each["draftId"]: each for each in outbox.runs.call("checkReferences")}
        assert found == {
            lost.id: {"draftId": lost.id, "runId": "nowhere", "missing": "run"},
            deleted.id: {"draftId": deleted.id, "runId": run, "missing": "draft"},
        }


def test_without_a_postgres_the_procedures_say_what_to_set(outbox):
    """A sidecar without an address raises an error that names the variable."""
    with pytest.raises(Exception, match="SC-941") as raised:
        outbox.runs.call("drafts", "r")
    assert "No PostgreSQL is named" in str(raised.value)
