"""Tables of the pages equal the code."""

import ast
import importlib
import inspect
import re
from dataclasses import asdict
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, get_args

import pytest
from docs.pages import PAGES, ROOT, code_in, headings, name_of, page_named, rows, section
from docs.test_doctests import PACKAGES, modules

import sidecypher
from sidecypher import Row
from sidecypher.calls.executors._pages import PAGE_ROWS
from sidecypher.errors import SidecypherError
from sidecypher.host.limits import Limits
from sidecypher.host.settings import Settings
from sidecypher.loading.changes import State
from sidecypher.loading.loader import load
from sidecypher.operations import procedures as introspection
from sidecypher.protocol import envelope
from sidecypher.runtime.lockfile import load_lock
from sidecypher.sdk.call import Call
from sidecypher.sdk.registry import Registry, procedures_in
from sidecypher.sdk.signature.names import RESERVED_NAMESPACES
from sidecypher.sdk.signature.reader import read_signature
from sidecypher.telemetry.calls import Rejection, Telemetry
from sidecypher.values.kinds import TAGS
from sidecypher_procedures import migrations
from sidecypher_procedures.algo import procedures as algo
from sidecypher_procedures.algo.settings import AlgoSettings
from sidecypher_procedures.code import procedures as code
from sidecypher_procedures.code.settings import CodeSettings
from sidecypher_procedures.environment import EnvironmentSettings
from sidecypher_procedures.github import procedures as github
from sidecypher_procedures.github.cache import Clock
from sidecypher_procedures.github.settings import GithubSettings
from sidecypher_procedures.github.sharing.shared import SharedCache
from sidecypher_procedures.rules import procedures as rules
from sidecypher_procedures.rules.client.memory import MemoryClient
from sidecypher_procedures.rules.client.model import ClientSettings
from sidecypher_procedures.rules.model import SNIPPET_CHARACTERS
from sidecypher_procedures.rules.ranking import Reason, Status
from sidecypher_procedures.rules.selection import BOUNDS
from sidecypher_procedures.rules.settings import RulesSettings
from sidecypher_procedures.runs import procedures as runs
from sidecypher_procedures.runs.model import EVENT_TYPES, NEXT, STATE_AFTER, STEPS
from sidecypher_procedures.runs.settings import RunsSettings
from sidecypher_procedures.session import procedures as session
from sidecypher_procedures.session.settings import SessionSettings
from sidecypher_procedures.sync.changes import procedures as outbox
from sidecypher_procedures.sync.postgres import procedures as postgres
from sidecypher_procedures.sync.postgres.settings import PREFIX as POSTGRES
from sidecypher_procedures.sync.postgres.settings import PostgresSettings
from sidecypher_procedures.sync.settings import RedisSettings, SyncSettings

JAVA = ROOT / "plugin-build/core/src/main/java/io/sidecypher/core"
GITHUB = {found.name: found for found in Registry(procedures_in([github]))}
RULES = {found.name: found for found in Registry(procedures_in([rules]))}
RUNS = {found.name: found for found in Registry(procedures_in([runs, postgres]))}
ALGO = {found.name: found for found in Registry(procedures_in([algo]))}
CODE = {found.name: found for found in Registry(procedures_in([code]))}
SESSION = {found.name: found for found in Registry(procedures_in([session]))}
OWN = {found.name: found for found in Registry(procedures_in([introspection, migrations, outbox]))}


class Value(Row):
    value: int


# Errors


def error_classes():
    """Return every class of error of the four packages."""
    for name in modules():
        importlib.import_module(name)
    found, waiting = set(), [SidecypherError]
    while waiting:
        each = waiting.pop()
        found.add(each)
        waiting += each.__subclasses__()
    return {each for each in found if _is_ours(each)}


def codes_in(files, pattern):
    return {code for file in files for code in re.findall(pattern, file.read_text("utf-8"))}


def java_codes():
    return codes_in(JAVA.glob("*.java"), r'"(SC-\d{3})"')


def documented_errors():
    return rows(page_named("docs/errors.md"), "code")


def test_every_error_code_is_documented_once():
    """docs/errors.md has each code that Python or Java may raise, once, and no other."""
    sources = [
        file
        for package in PACKAGES
        for file in Path(importlib.import_module(package).__path__[0]).rglob("*.py")
    ]
    raised = {each.code for each in error_classes()} | java_codes()
    raised |= codes_in(sources, r'code="(SC-\d{3})"')

    assert [row[0] for row in documented_errors()] == sorted(raised)


def test_error_codes_are_documented_with_their_class():
    """The class beside a code is the one that has it; a code without a class has a dash."""
    owners = {each.code: each.__name__ for each in error_classes() if "code" in vars(each)}

    for row in documented_errors():
        expected = f"`{owners[row[0]]}`" if row[0] in owners else "-"
        assert row[1] == expected, row[0]


def test_error_codes_have_one_class_each():
    """No two classes share a code of their own."""
    owned = [each.code for each in error_classes() if "code" in vars(each)]

    assert sorted(owned) == sorted(set(owned))


def test_the_page_tells_which_side_raises_a_call_error():
    """In the table of calls J stands where the plugin raises a code, P where the sidecar does."""
    table = rows(section("docs/errors.md", "SC-2: calls"), "code")
    java = {row[0] for row in table if "J" in row[2].split(", ")}
    python = {row[0] for row in table if "P" in row[2].split(", ")}

    assert java == java_codes()
    assert python == {each.code for each in error_classes() if re.fullmatch(r"SC-2\d\d", each.code)}


GONE = {"SC-309", "SC-703", "SC-704", "SC-802"}
"""Codes of earlier versions; the pages about versions tell what became of them."""


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_codes_that_pages_name_exist(page):
    """A code in a sentence is one that docs/errors.md has, or is told to be gone."""
    named = set(re.findall(r"SC-\d{3}", page.read_text(encoding="utf-8")))
    known = {row[0] for row in documented_errors()}

    assert GONE.isdisjoint(known)
    if name_of(page) in {"CHANGELOG.md", "docs/upgrading.md"}:
        assert named >= GONE
        known |= GONE
    assert named <= known


def test_the_index_of_errors_is_complete():
    """The first table of docs/errors.md leads to each of its sections, by their first digit."""
    index = [row[0] for row in rows(page_named("docs/errors.md"), "codes")]

    assert index == [
        title.partition(":")[0]
        for title in headings(ROOT / "docs/errors.md")
        if title.startswith("SC-")
    ]
    assert set(index) == {row[0][:4] for row in documented_errors()}


def test_every_error_says_what_to_do():
    """Each line of docs/errors.md tells what happened and what to do."""
    assert [row[0] for row in documented_errors() if not all(row)] == []


# Settings


def settings_table(title):
    return {code_in(row[0])[0]: row[1] for row in rows(section("docs/settings.md", title), "name")}


def assert_defaults(table, fields):
    """A default in code quotes is the real one; one in words stands for what has no text."""
    assert list(table) == list(fields)
    for name, told in table.items():
        default = fields[name].default
        if code_in(told):
            assert code_in(told)[0].lower() == str(default).lower(), name
        else:
            assert fields[name].default_factory or default in (None, "", ()), name


def test_every_setting_is_documented_with_its_default():
    """docs/settings.md has each setting of the command and the sidecar, with its default."""
    assert_defaults(settings_table("The command and the sidecar"), Settings.model_fields)


def test_every_github_setting_is_documented_with_its_default():
    """docs/settings.md has each `SIDECYPHER_GITHUB_` setting, with its default."""
    fields = {**GithubSettings.model_fields}
    del fields["ambient_token"]

    assert_defaults(settings_table("The `github` procedures"), fields)


def test_every_rules_setting_is_documented_with_its_default():
    """docs/settings.md has each `SIDECYPHER_RULES_` setting, with its default."""
    assert_defaults(settings_table("The `rules` procedures"), RulesSettings.model_fields)


def test_every_runs_setting_is_documented_with_its_default():
    """docs/settings.md has each `SIDECYPHER_RUNS_` setting, with its default."""
    assert_defaults(settings_table("The `runs` procedures"), RunsSettings.model_fields)


def test_every_algo_setting_is_documented_with_its_default():
    """docs/settings.md has every setting of the `algo` procedures, with its default."""
    assert_defaults(settings_table("The `algo` procedures"), AlgoSettings.model_fields)


def test_every_code_setting_is_documented_with_its_default():
    """docs/settings.md has every setting of the `code` procedures, with its default."""
    assert_defaults(settings_table("The `code` procedures"), CodeSettings.model_fields)


def test_every_session_setting_is_documented_with_its_default():
    """docs/settings.md has each `SIDECYPHER_SESSION_` setting, with its default."""
    assert_defaults(settings_table("The `session` procedures"), SessionSettings.model_fields)


def test_every_sync_setting_is_documented_with_its_default():
    """docs/settings.md has each `SIDECYPHER_SYNC_` and `SIDECYPHER_REDIS_` setting."""
    assert_defaults(settings_table("The `sync` commands"), SyncSettings.model_fields)
    assert_defaults(settings_table("Redis"), RedisSettings.model_fields)


def test_every_postgres_setting_is_documented_with_its_default():
    """docs/settings.md has each `SIDECYPHER_POSTGRES_` setting, with its default."""
    fields = {
        (field.validation_alias or name).removeprefix(POSTGRES).lower(): field
        for name, field in PostgresSettings.model_fields.items()
    }

    assert_defaults(settings_table("PostgreSQL"), fields)


def test_every_setting_of_the_client_is_documented_with_its_default():
    """docs/settings.md has each variable of the memory's client, with its default."""
    fields = {
        field.validation_alias or name: field for name, field in ClientSettings.model_fields.items()
    }

    assert_defaults(settings_table("The client of the memory"), fields)


def test_every_plugin_setting_is_documented_with_its_default():
    """docs/settings.md has each setting of the Java side, with its default."""
    source = (JAVA / "Settings.java").read_text("utf-8")
    numbers = re.findall(r'number\(values, "(\w+)", ([\d_* ]+),', source)
    defaults = {name: str(eval(expression)) for name, expression in numbers}
    defaults |= dict.fromkeys(re.findall(r'flag\(values, "(\w+)"\)', source), "false")
    names = re.search(r"NAMES = Set\.of\((.*?)\);", source, re.DOTALL)[1]
    table = settings_table("The plugin in Neo4j")

    assert set(table) == set(re.findall(r'"(\w+)"', names))
    assert {name: code_in(told)[0] for name, told in table.items() if code_in(told)} == defaults


def test_every_settings_class_of_procedures_has_a_table():
    """Whatever of the shipped procedures reads variables is compared with its table above."""
    for name in modules():
        importlib.import_module(name)
    found = {each for each in EnvironmentSettings.__subclasses__() if _is_ours(each)}

    assert found == {
        AlgoSettings,
        CodeSettings,
        GithubSettings,
        RulesSettings,
        RunsSettings,
        SessionSettings,
        ClientSettings,
        PostgresSettings,
        RedisSettings,
        SyncSettings,
    }


def _is_ours(each):
    return each.__module__.partition(".")[0] in PACKAGES


# The author's guide


def types():
    return rows(section("docs/procedures-types.md", "Types"), "Python")


@pytest.mark.parametrize("row", types(), ids=lambda row: row[0])
def test_the_table_of_types_is_true(row):
    """An annotation of the table gives the Cypher type beside it."""
    names = {name: getattr(sidecypher, name) for name in sidecypher.__all__}
    names |= {"date": date, "datetime": datetime, "time": time, "Any": Any}
    kind = eval(code_in(row[0])[0], names | {"T": int})

    def body(value) -> Value: ...

    body.__annotations__["value"] = kind

    assert str(read_signature(body).parameters[0].type) == row[1].strip("`").replace(
        "<T>", "<INTEGER>"
    )


def test_reserved_namespaces_are_listed():
    """The author's guide has every namespace that is refused."""
    text = section("docs/procedures-types.md", "The decorator").partition("for itself:")[2]

    assert set(code_in(text.partition(".")[0])) == RESERVED_NAMESPACES


def test_every_public_name_is_in_the_guide():
    """The pages for authors name everything that `sidecypher` exports."""
    text = "".join(page.read_text("utf-8") for page in (ROOT / "docs").glob("procedures*.md"))

    assert [name for name in sidecypher.__all__ if not re.search(rf"\b{name}\b", text)] == []


# The shipped procedures


@pytest.mark.parametrize("name", [*ALGO, *OWN])
def test_columns_of_the_shipped_procedures(name):
    """The page of a namespace has each signature and its columns, in order, with their types."""
    procedure = (ALGO | OWN)[name]
    text = section(f"docs/{name.partition('.')[0]}.md", name)
    table = [(code_in(row[0])[0], row[1].strip("`")) for row in rows(text, "column")]

    assert table == [(column.name, column.type) for column in procedure.entry.columns]
    assert procedure.usage().partition(" :: (")[0] in text.splitlines()


@pytest.mark.parametrize("name", [*ALGO, *CODE, *GITHUB, *RULES, *RUNS, *SESSION, *OWN])
def test_the_reference_leads_to_what_there_is_to_know(name):
    """Each procedure has a link to its section of a page, or to the page of its namespace."""
    entry = section("docs/reference.md", name)

    assert re.search(rf"\[{name.partition('.')[0]}[^]]*\]\([\w-]+\.md", entry)


@pytest.mark.parametrize("namespace", ["algo", "code", "github", "rules", "runs", "session"])
def test_sections_are_named_as_procedures_are(namespace):
    """A heading like the name of a procedure is one: a section does not outlive its procedure."""
    pages = (ROOT / "docs").glob(f"{namespace}*.md")
    titles = {title for page in pages for title in headings(page)}
    named = {title for title in titles if title.startswith(f"{namespace}.")}

    assert named <= {*(ALGO | CODE | GITHUB | RULES | RUNS | SESSION)}


def test_every_shipped_procedure_has_a_page():
    """Nothing is found by entry point, batches aside, but what the pages of namespaces have."""
    found = {each.name for each in load([]).registry}

    assert {name for name in found if not name.endswith(".batch")} == {
        *(ALGO | CODE | GITHUB | RULES | RUNS | SESSION | OWN)
    }


def test_what_is_written_is_written_by_procedures_that_exist():
    """In docs/schema.md each label and type of relationship has procedures that may write."""
    table = rows(page_named("docs/schema.md"), "label or type")
    named = {name for row in table for name in code_in(row[1])}

    assert {name: (GITHUB | RUNS)[name].entry.mode for name in named} == dict.fromkeys(
        named, "WRITE"
    )


def test_states_of_a_reload_are_documented():
    """docs/sidecypher.md tells each state that a procedure may have after a reload."""
    table = rows(section("docs/sidecypher.md", "sidecypher.reload"), "state")

    assert [code_in(row[0])[0] for row in table] == list(get_args(State))


def keys_of(found, parameter="options"):
    """Return the fields of a MAP that a procedure takes."""
    [shape] = [each.shape for each in found.signature.parameters if each.name == parameter]
    return [field.name for field in shape.fields]


def test_the_picture_of_a_contradiction_shows_the_recipe():
    """User, rules, snippets, sessions and reason in the picture are those of its recipe."""
    texts = re.findall(r"<text[^>]*>([^<]+)</text>", page_named("docs/rules-contradiction.svg"))
    shown = {each.strip("“”") for each in texts if each[0] == "“" or each[0].islower()}
    recipe = section("docs/rules.md", "A user changes her mind")

    assert len(shown) == 10
    assert {each for each in shown if each not in recipe} == {"contested"}


def test_the_table_of_rules_has_each_procedure():
    """docs/rules.md lists each procedure, with a link to its tables in docs/reference.md."""
    table = [row[0] for row in rows(section("docs/rules.md", "Procedures"), "procedure")]

    assert sorted(table) == sorted(
        f"[`{name}`](reference.md#{name.replace('.', '').lower()})" for name in RULES
    )


@pytest.mark.parametrize(
    ("first", "known"), [("status", get_args(Status)), ("reason", get_args(Reason))]
)
def test_outcomes_of_rules_are_documented(first, known):
    """docs/rules-concepts.md has every outcome."""
    table = rows(section("docs/rules-concepts.md", "Status and reason"), first)

    assert [code_in(row[0])[0] for row in table] == list(known)


def test_the_calls_of_the_client_have_the_signatures_that_are_documented():
    """docs/rules-client.md has each call as Python has it, without the types."""
    documented = [row[0] for row in rows(section("docs/rules-client.md", "Calls"), "call")]
    calls = {
        name: call
        for name, call in vars(MemoryClient).items()
        if inspect.isfunction(call) and not name.startswith("_")
    }
    actual = []
    for name, call in calls.items():
        _, *parameters = inspect.signature(call).parameters.values()
        bare = [each.replace(annotation=inspect.Parameter.empty) for each in parameters]
        actual.append(f"`{name}{inspect.Signature(bare)}`")

    assert documented == actual


def test_the_limits_of_a_context_are_documented():
    """docs/rules-concepts.md has every limit of a context with its value."""
    table = rows(section("docs/rules-concepts.md", "Limits of a context"), "limit")

    assert {code_in(row[0])[0]: int(row[1]) for row in table} == asdict(BOUNDS)


def test_the_bound_of_a_snippet_is_documented():
    """docs/rules-concepts.md tells how long a snippet may be."""
    assert f"at most {SNIPPET_CHARACTERS} characters" in page_named("docs/rules-concepts.md")


# Operations, runtime and wire


def test_every_metric_is_documented():
    """docs/telemetry.md has each metric with its type and labels."""
    metrics = {}
    telemetry = Telemetry()
    observed = telemetry.call(Call("call-1", "kg.score", "neo4j", "neo4j"), "procedure")
    observed.queued(0.1)
    telemetry.rejected("request refused", "busy")
    telemetry.plugin_reports.update(
        object(),
        "jvm",
        envelope.FailuresRequest(
            [envelope.Failures("kg.score", "SC-210", "error", 1)],
            [envelope.CachedCalls("kg.score", 1, 0, 1, 1, 500)],
        ),
    )
    observed.page(1, 0.1, 10, 10, last=True)
    shared = SharedCache("redis://localhost", GithubSettings(), Clock())
    for metric in [*telemetry.metrics.collect(), *shared.metrics()]:
        name = metric.name + ("_total" if metric.type == "counter" else "")
        labels = {label for sample in metric.samples for label in sample.labels} - {"le"}
        metrics[name] = (metric.type, labels)
    table = rows(section("docs/telemetry.md", "Metrics"), "metric")

    assert {code_in(row[0])[0]: (row[1], set(code_in(row[2]))) for row in table} == metrics


_LEVELS = {"debug", "info", "warning", "error"}
_LOG = re.compile(r"_?log|_?log\(\)|logger\(\)")


def logged():
    """Return the events of the structured log, each with its levels."""
    found = {(event, "warning") for event in get_args(Rejection)}
    found |= {("call served", "debug"), ("call closed", "debug")}
    for file in [*(ROOT / "bridge").rglob("*.py"), *(ROOT / "procedures").rglob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(ast.Attribute(log, level), [ast.Constant(str(event)), *_]) if (
                    level in _LEVELS and _LOG.fullmatch(ast.unparse(log).rpartition(".")[2])
                ):
                    found.add((event, level))
    return found


def test_every_log_event_is_documented():
    """Each event of the log has a line with its levels, and no other has one."""
    operations = rows(section("docs/telemetry.md", "Logs"), "event")
    others = [rows(page_named(f"docs/{page}.md"), "log line") for page in ("sync", "postgres")]
    documented = {
        (event, level)
        for row in [*operations, *others[0], *others[1]]
        for event in code_in(row[0])
        for level in row[1].split(", ")
    }

    assert documented == logged()


@pytest.mark.parametrize("lane", ["lts", "current"])
def test_the_lock_files_are_described_as_they_are(lane):
    """docs/runtime.md tells version, Java, number of jars and size as the lock files have them."""
    lock = load_lock(lane)
    [row] = [
        row
        for row in rows(section("docs/runtime.md", "Lanes"), "lane")
        if code_in(row[0]) == [lane]
    ]
    size = round(sum(jar.size for jar in lock.jars) / 1e6)

    assert row[1:3] == [lock.neo4j, " or ".join(map(str, lock.java))]
    assert re.search(rf"{len(lock.jars)} jars, {size} MB", page_named("docs/runtime.md"))


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("hello", envelope.Hello),
        ("call", envelope.CallRequest),
        ("page", envelope.PageRequest),
        ("close", envelope.CloseRequest),
        ("cancel", envelope.CancelRequest),
        ("failures", envelope.FailuresRequest),
        ("run", envelope.RunRequest),
    ],
)
def test_envelopes_have_the_members_that_are_documented(message, kind):
    """docs/wire.md has the members of each message; `v` may be there without being read."""
    table = rows(section("docs/wire.md", "Envelopes"), "message")
    told = next(row[1] for row in table if row[0] == f"`{message}`")
    members = set(code_in(re.sub(r"\(.*?\)", "", told)))

    assert members - {"v"} == set(kind.__struct_fields__) - {"v"}


def test_tags_of_values_are_documented():
    """docs/wire.md has exactly the tags that Python writes and Java reads."""
    told = set(re.findall(r'\{"(\$\w+)":', section("docs/wire.md", "Values")))
    java = set(re.findall(r'"(\$\w+)"', (JAVA / "Kind.java").read_text("utf-8")))

    assert told == set(TAGS) == java


def test_limits_are_documented():
    """Numbers of the pages are the limits of the code."""
    limits = Limits()
    wire, guide = page_named("docs/wire.md"), page_named("docs/procedures-types.md")

    assert f"{limits.message_bytes // 2**20} MiB" in wire
    assert f"accepts {limits.connections} connections" in wire
    assert f"There may be {limits.strangers} of them" in wire
    assert f"Python allows {limits.handshake_seconds:g} seconds" in wire
    assert "pages of {}, {}, {} and then {:_} rows".format(*PAGE_ROWS).replace("_", " ") in guide


def test_keys_of_events_are_documented():
    """docs/runs-model.md has every key of an event, those of single types in the table of types."""
    table = rows(section("docs/runs-model.md", "Events"), "key")
    carried = {name for kind in EVENT_TYPES for name in (*_texts(kind), *kind.further)}

    keys = {*keys_of(RUNS["runs.append"], "event")}
    assert {code_in(row[0])[0] for row in table} == keys - carried


def test_the_table_of_event_types_is_true():
    """docs/runs-model.md has every type of event under both names, with what it carries."""
    table = rows(section("docs/runs-model.md", "Events"), "in the graph")
    told = [[code_in(cell) for cell in row] for row in table]

    assert told == [
        [
            [kind.storage],
            [kind.application],
            [*_texts(kind), *kind.further],
            list(kind.labels),
        ]
        for kind in EVENT_TYPES
    ]


def test_the_life_of_a_plan_is_documented():
    """docs/runs-model.md has every step of the life of a plan."""
    told = {}
    for call, before, then in rows(section("docs/runs-model.md", "Plans"), "call"):
        steps = dict.fromkeys(code_in(before), code_in(then)[0])
        told.setdefault(code_in(call)[0].removeprefix("runs.plan."), {}).update(steps)

    assert told == STEPS


def _texts(kind):
    names = (*kind.bodies(kind.storage), *kind.bodies(kind.application))
    return list(dict.fromkeys(names))


def test_the_tables_of_states_are_true():
    """docs/runs-model.md has every event that bears a state, and every change of a state."""
    borne = rows(section("docs/runs-model.md", "State"), "event")
    told = {code_in(row[0])[0]: code_in(row[1])[0] for row in borne}
    changes = rows(section("docs/runs-model.md", "State"), "from")

    assert told == STATE_AFTER | {"workflowState": "state"}
    assert {code_in(row[0])[0]: set(code_in(row[1])) for row in changes} == NEXT
