"""Child runs on a real Neo4j: creating, listing, archiving and deleting them."""

import pytest
from neo4j.exceptions import ClientError

PARENTS = "MATCH (c:WorkflowRun)-[:CHILD_OF]->(p:WorkflowRun) RETURN c.id AS child, p.id AS parent"


@pytest.fixture
def family(runs):
    """A run with two children, one of which has a child; all have ended."""
    runs.new(id="top")
    runs.new(id="left", parentRunId="top")
    runs.new(id="right", parentRunId="top")
    runs.new(id="leaf", parentRunId="left")
    for run in ("leaf", "left", "right", "top"):
        runs.append(run, "llmResponse", cost=1.0)
        runs.append(run, "workflowCompleted")
    return runs


def names(rows):
    return [row["id"] for row in rows]


def test_a_run_has_a_parent(family, session):
    """The parent is a relationship of the graph, and `runs.get` tells it."""
    told = {row["child"]: row["parent"] for row in session.run(PARENTS)}

    assert told == {"left": "top", "right": "top", "leaf": "left"}
    assert family.one("get", "leaf")["run"]["parentRunId"] == "left"
    assert "parentRunId" not in family.one("get", "top")["run"]


def test_children_are_listed_in_pages(family):
    """`runs.list` with `parentRunId` lists children, newest first, and no grandchildren."""
    rows = family.call("list", {"parentRunId": "top"})
    assert names(rows) == ["right", "left"]

    page = family.call("list", {"parentRunId": "top", "limit": 1})
    rest = family.call("list", {"parentRunId": "top", "cursor": page[0]["cursor"]})
    assert names(page + rest) == ["right", "left"]

    family.new(id="late", parentRunId="top")
    running = family.call("list", {"parentRunId": "top", "state": "pending", "type": "test"})
    assert names(running) == ["late"]
    assert family.call("list", {"parentRunId": "leaf"}) == []
    assert family.call("list", {"parentRunId": "none"}) == []


def test_filters_of_lists_combine_with_a_parent(runs, session):
    """A child that is based on an issue is found by both; another one of the issue is not."""
    session.run("CREATE (:Issue {id: '7'})").consume()
    runs.new(id="top")
    child = runs.new(parentRunId="top", basedOn={"issue": "7"}, initiatedBy="ann")
    runs.new(basedOn={"issue": "7"}, initiatedBy="ann")
    runs.new(parentRunId="top")

    assert names(runs.call("list", {"parentRunId": "top", "issueId": "7"})) == [child]
    assert names(runs.call("list", {"parentRunId": "top", "userId": "ann"})) == [child]


def test_a_parent_has_to_be_there_and_is_another_run(runs):
    """Otherwise no run is created."""
    with pytest.raises(ClientError, match=r"SC-903.*`none`"):
        runs.new(id="r", parentRunId="none")
    with pytest.raises(ClientError, match=r"SC-902.*`r` is given as its own parent"):
        runs.new(id="r", parentRunId="r")
    with pytest.raises(ClientError, match=r"SC-204.*`options.parentRunId`"):
        runs.new(id="r", parentRunId=" ")

    assert runs.call("get", "r") == []


def test_no_later_call_changes_a_parent(family, session):
    """A run that is there keeps its parent, or none, so that a run is never below itself."""
    for run, parent in (("top", "leaf"), ("left", "right"), ("leaf", None)):
        options = {"id": run} if parent is None else {"id": run, "parentRunId": parent}
        assert family.one("create", "test", options)["created"] is False

    told = {row["child"]: row["parent"] for row in session.run(PARENTS)}
    assert told == {"left": "top", "right": "top", "leaf": "left"}


def test_a_fork_may_be_a_child(family):
    """The fork has the given parent, and not that of the run that it was forked from."""
    family.one("fork", "leaf", 1, {"id": "fork", "parentRunId": "top"})
    family.one("fork", "leaf", 1, {"id": "free"})

    assert family.one("get", "fork")["run"]["parentRunId"] == "top"
    assert "parentRunId" not in family.one("get", "free")["run"]


def test_usage_of_a_run_with_all_below_it(family):
    """`children` adds children and theirs; without it a run counts alone."""
    assert family.one("usage", "top")["cost"] == 1.0
    assert family.one("usage", "left", {"children": True})["cost"] == 2.0
    assert family.one("usage", "top", {"children": True})["events"] == 4
    [row] = family.call("usage", "top", {"children": True, "by": "model"})
    assert (row["id"], row["model"], row["cost"]) == ("top", None, 4.0)


@pytest.mark.parametrize("way", ["archive", "delete"])
def test_a_parent_stays_until_its_children_have_left(family, way):
    """Neither leaves while the graph has a child of it; children leave first."""
    for run in ("top", "left"):
        with pytest.raises(ClientError, match=rf"SC-917.*children of the run `{run}`"):
            family.one(way, run)
    for run in ("leaf", "left", "right", "top"):
        family.one(way, run)

    assert family.call("list") == []


def test_a_family_is_restored_from_the_top(family, session):
    """A child needs its parent, and then is a child of it again."""
    before = session.run(PARENTS + " ORDER BY child").data()
    for run in ("leaf", "left", "right", "top"):
        family.one("archive", run)

    with pytest.raises(ClientError, match=r"SC-909.*WorkflowRun `top`"):
        family.one("restore", "left")
    for run in ("top", "left", "right", "leaf"):
        family.one("restore", run)

    assert session.run(PARENTS + " ORDER BY child").data() == before
    assert all(family.one("verify", run)["ok"] for run in ("top", "left", "right", "leaf"))


def test_retention_takes_children_first(family, session):
    """A parent is not among the old runs while it has children; later it is."""
    session.run("MATCH (r:WorkflowRun) SET r.completedAt = datetime() - duration('P2D')").consume()
    retain = (
        "CALL runs.retain('test', duration('P1D'), {dryRun: false, delete: true}) "
        "YIELD id RETURN id ORDER BY id"
    )

    left = [session.run(retain).value() for _ in range(3)]
    assert left == [["leaf", "right"], ["left", "top"], []]


@pytest.mark.parametrize("kept", [True, False], ids=["child first", "deletion first"])
def test_a_child_and_the_deletion_of_its_parent_exclude_each_other(runs, beside, kept):
    """Whichever has the lock of the parent first decides, and no child is left without it."""
    runs.new(id="top")
    runs.append("top", "workflowCompleted")
    child = "CALL runs.create('test', {id: 'child', parentRunId: 'top'}) YIELD id"
    delete = "CALL runs.delete('top') YIELD id"

    with pytest.raises(ClientError, match="SC-917.*children" if kept else "SC-903.*`top`"):
        beside(*((child, delete) if kept else (delete, child)))

    assert sorted(names(runs.call("list"))) == (["child", "top"] if kept else [])
