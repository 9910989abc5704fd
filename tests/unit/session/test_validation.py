"""What is found in workflows before any session fails by it."""

import json
import time

import pytest
from fix_waiting import promised

from sidecypher_procedures.session.validation import Finding, Workflow, findings_of
from sidecypher_procedures.session.workflow import Edge, Step

S = "@{SESSION_ID}"
FUNCTIONS = ["", "request", "reply", "generate", "set", "wait", "session", "condition.equals"]


def step(name, *targets, function="set", given=None, **properties):
    """Return a step with edges; a target is an id, or one with the properties of the edge."""
    text = given if given is None or isinstance(given, str) else json.dumps(given)
    pairs = [each if isinstance(each, tuple) else (each, {}) for each in targets]
    edges = tuple(Edge(more, to, to) for to, more in pairs)
    return Step(name, name, {"id": name, "function": function, "input": text, **properties}, edges)


def found(*steps, entry="root", stray=()):
    """Return severity, step, place and message of what is found."""
    workflow = Workflow("w", entry, list(steps), stray)
    return [
        (each.severity, each.step_id, each.where, each.message)
        for each in findings_of(workflow, FUNCTIONS)
    ]


def ask(name, *targets, **properties):
    return step(name, *targets, function="request", given={"statement": "Who?"}, **properties)


def test_nothing_is_found_in_a_sound_workflow():
    """A loop with a request, references to what has run, aliases, conditions of each form."""
    yes = {"conditions": json.dumps([{"value": f"{S}.ask.response", "op": "exists"}])}
    no = {"condition": f"{S}.ask.response|x", "operator": "or"}
    old = {"function": "condition.equals", "input": '{"value": "@{SESSION_ID}.b.x", "equals": 1}'}
    workflow = [
        step("root", "ask", given={"who": f"{S}.input.name", "late": f"{S}.c.x|none"}),
        ask("ask", ("b", yes), ("c", no), retries=3, timeoutMs=5, join="all"),
        step("b", ("ask", old), function="", onError="step:c"),
        step("c", given={"text": f"{S}.ask.response"}, onError="continue"),
    ]

    assert found(*workflow) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": }', "The `input` of the step `root` is not JSON at line 1, column 7: "),
        ('{"a": 1, "a": 2}', "The `input` of the step `root` has the key `a` twice in one map"),
        ("[]", "The `input` of the step `root` is not a JSON object"),
        ('{"a": "@{"}', "The reference at character 1 cannot be read: its brace is not closed"),
    ],
)
def test_an_input_that_cannot_be_read(text, told):
    """Bad JSON is told with line and column, a bad reference with its character."""
    [(severity, name, where, message)] = found(step("root", given=text))

    assert (severity, name, where) == ("error", "root", "input")
    assert message.startswith(told)


@pytest.mark.parametrize(
    ("function", "given", "name"),
    [
        ("request", {}, "statement"),
        ("request", {"statement": None, "options": ["a"]}, "statement"),
        ("utils.reply.reply", {}, "message"),
        ("generate", {"system": "x"}, "user"),
        ("wait", {}, "seconds"),
    ],
)
def test_what_a_function_needs_and_does_not_have(function, given, name):
    """The name that is told is ours, also where an older one would do."""
    assert found(step("root", function=function, given=given)) == [
        ("error", "root", "input", f"It has no `{name}`")
    ]


@pytest.mark.parametrize(
    ("function", "told"),
    [
        ("requst", "There is no function `requst`; did you mean `request`?"),
        ("condition.equal", "There is no function `condition.equal`; did you mean"),
        ("xyz", "There is no function `xyz`"),
        ("x" * 500, "There is no function `...`"),
    ],
)
def test_a_function_that_is_not_there(function, told):
    """The nearest name is told, if one is near."""
    [(severity, name, where, message)] = found(step("root", function=function))

    assert (severity, name, where) == ("error", "root", "function")
    assert message.startswith(told)


@pytest.mark.parametrize(
    ("reference", "severity", "told"),
    [
        (f"{S}.nobody.x", "error", f"`{S}.nobody.x` names a step that is not there"),
        (f"{S}.nobody.x|d", "warning", f"`{S}.nobody.x` names a step that is not there"),
        (f"{S}.end.x|{S}.nobody", "error", f"`{S}.nobody` names a step that is not there"),
        (f"{S}.root.x", "warning", f"`{S}.root.x` names a step that cannot have run"),
        (f"{S}.end.x", "warning", f"`{S}.end.x` names a step that cannot have run"),
        (
            "@{end}.x",
            "warning",
            f"`@{{end}}.x` names a step where a session is named; write `{S}.`",
        ),
    ],
)
def test_a_reference_to_what_is_not_there_yet(reference, severity, told):
    """Without a default sessions fail by it; with one, it is only of no use."""
    workflow = step("root", "end", given={"a": [{"b": f"= {reference}"}]}), step("end")

    assert found(*workflow) == [(severity, "root", "input", told)]


@pytest.mark.parametrize(
    "reference", [f"{S}.end.x|d", f"{S}.input.x", "@{other}.end.x", f"{S}.before.x"]
)
def test_a_reference_that_may_be_right(reference):
    """A default, what the session was started with, another session, a step before."""
    workflow = (
        step("before", "root"),
        step("root", "end", given={"a": reference}),
        step("end"),
    )

    assert found(*workflow, entry="before") == []


def test_a_step_of_a_parallel_branch_may_have_run():
    """Which of two branches is faster is not known before; a step behind cannot have run."""
    given = {"a": f"{S}.left.x"}
    branches = step("root", "left", "right"), step("left")

    assert found(*branches, step("right", given=given)) == []
    assert len(found(step("root", "left", given=given), step("left"))) == 1


def test_a_step_that_an_error_leads_to_may_refer_to_what_failed_before():
    """`onError` is a way as any edge is."""
    workflow = (
        step("root", "middle"),
        step("middle", onError="step:help"),
        step("help", given={"a": f"{S}.root.x"}),
    )

    assert found(*workflow) == []


def test_a_loop_lets_a_step_refer_to_itself():
    """In a cycle everything may have run, and `store.append` needs it."""
    assert found(ask("root", "again"), step("again", "root", given={"a": f"{S}.again.x"})) == []


@pytest.mark.parametrize(
    ("properties", "told"),
    [
        ({"conditions": "[,]"}, "`conditions` is not JSON at line 1, column 2"),
        ({"conditions": '["yes"]'}, "`conditions[0]`: The text is not one reference"),
        ({"condition": "@{"}, "`condition[0]`: The reference at character 1 cannot be read"),
        ({"function": "equals"}, "`function` is not a condition"),
        ({"conditions": f'["{S}.nobody.x"]'}, f"`{S}.nobody.x` names a step that is not there"),
    ],
)
def test_a_condition_that_cannot_be_read(properties, told):
    """It is told at the edge, by where that leads to."""
    [(severity, name, where, message)] = found(step("root", ("end", properties)), step("end"))

    assert (severity, name, where) == ("error", "root", "NEXT to end")
    assert message.startswith(told)


def test_a_condition_may_refer_to_the_step_that_has_just_run():
    """It is looked at behind the step, so only others cannot have run."""
    own = {"conditions": json.dumps([f"{S}.root.x"])}
    other = {"conditions": json.dumps([f"{S}.end.x"])}

    assert found(step("root", ("end", own)), step("end")) == []
    assert found(step("root", ("end", other)), step("end")) == [
        (
            "warning",
            "root",
            "NEXT to end",
            f"`{S}.end.x` names a step that cannot have run",
        )
    ]


def test_steps_that_no_way_leads_to():
    """Neither an edge nor an `onError` leads there, directly or over others."""
    unreached = "No way from the entry step leads to it"
    workflow = step("root", onError="step:help"), step("help"), step("lost", "more"), step("more")

    assert found(*workflow) == [
        ("warning", "lost", "NEXT", unreached),
        ("warning", "more", "NEXT", unreached),
    ]


def test_an_entry_that_is_not_there():
    """It is told once, and not also of each step that it does not lead to."""
    assert found(step("a"), entry="root") == [
        ("error", "", "entry", "There is no entry step `root`")
    ]


def test_ids_that_are_there_twice_or_not_at_all():
    """Each is told once."""
    assert found(step("root", "a"), step("a"), step("a"), step(""), step("")) == [
        ("error", "", "id", "A step has no `id`, or one that is no text"),
        ("error", "a", "id", "Several steps have this id"),
        ("warning", "", "NEXT", "No way from the entry step leads to it"),
        ("warning", "", "NEXT", "No way from the entry step leads to it"),
    ]


def test_steps_with_one_id_lead_to_what_each_of_them_leads_to():
    """What is behind the first is not told as out of reach because there is a second."""
    workflow = step("root", "a"), step("a", "b"), step("a", "c"), step("b"), step("c")

    assert found(*workflow) == [("error", "a", "id", "Several steps have this id")]


def test_an_edge_to_a_node_that_is_no_step():
    """Nothing runs there, so the session would end."""
    assert found(step("root"), stray=("root",)) == [
        ("error", "root", "NEXT", "It leads to a node that is no STEP")
    ]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("step:nobody", "There is no step `nobody`"),
        ("step:", "There is no step ``"),
        ("stop", "It is neither `fail`, `continue` nor `step:` and an id"),
    ],
)
def test_an_error_that_leads_to_nowhere(given, told):
    """What is to follow an error has to be there."""
    assert found(step("root", onError=given)) == [("error", "root", "onError", told)]


CYCLE = "It is in a cycle without a request or a wait, which only `maxRounds` ends"


def cycles(*steps):
    return [name for _, name, _, message in found(*steps) if message.startswith(CYCLE)]


def test_cycles_without_a_pause():
    """Each is told once, at its first step; what is before and behind it is not in it."""
    assert cycles(step("root", "root")) == ["root"]
    assert cycles(step("root", "a"), step("a", "b", "c"), step("b", "a"), step("c")) == ["a"]
    assert cycles(step("root", "a"), step("a", "root", "b"), step("b", "c"), step("c", "b")) == [
        "root",
        "b",
    ]
    assert cycles(step("root", onError="step:root")) == ["root"]


@pytest.mark.parametrize(
    ("function", "given"),
    [
        ("request", {"statement": "x"}),
        ("wait", {"seconds": 1}),
        ("session", {"workflow": "w"}),
        ("utils.request.request", {"prompt": "x"}),
    ],
)
def test_cycles_with_a_pause(function, given):
    """Somebody, or the clock, has to do something in each turn."""
    assert cycles(step("root", "a"), step("a", "root", function=function, given=given)) == []


def test_a_cycle_past_a_pause():
    """A request in one of two loops does not pause the other."""
    assert cycles(ask("root", "a"), step("a", "b"), step("b", "a", "root")) == ["a"]


def test_a_finding_names_its_place():
    """In a sentence it says which step; ids are of callers, and may be anything."""
    assert Finding("error", "a", "input", "m").place == "The step `a` (input)"
    assert Finding("error", "a\nb", "input", "m").place == "The step `...` (input)"
    assert Finding("error", "", "entry", "m").place == "entry"


@pytest.mark.parametrize("is_closed", [False, True])
def test_large_workflows_are_looked_at_in_time(is_closed):
    """A long chain, with and without an edge back, and a reference from its end."""
    count = 2000
    steps = [
        step(f"s{index}", *([f"s{index + 1}"] if index < count - 1 else ["s0"] * is_closed))
        for index in range(count - 1)
    ]
    steps.append(step(f"s{count - 1}", *(["s0"] * is_closed), given={"a": f"{S}.s0.x"}))
    begin = time.thread_time()
    findings = found(*steps, entry="s0")

    assert time.thread_time() - begin < promised(2.0)
    assert len(findings) == is_closed
