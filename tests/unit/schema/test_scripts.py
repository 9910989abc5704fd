"""Files become migrations by their names and headers."""

from dataclasses import replace

import pytest

from sidecypher_schema import migration_states, own_scripts, shipped_scripts
from sidecypher_schema.catalog import Existing, Item, declared, read_command
from sidecypher_schema.chain import Applied
from sidecypher_schema.checksum import checksum
from sidecypher_schema.errors import BadScript, BadScriptName, TriggerRefused
from sidecypher_schema.scripts import read_script


def test_versions_are_ordered_as_numbers(folder):
    """2 comes before 10, 1.1 between 1 and 2, and repeatable ones are last, by name."""
    names = ["V10__e", "R__b", "V002__d", "V1_1__c", "V1__b", "R__a", "V0_9__a"]
    found = own_scripts(folder(**dict.fromkeys(names, "RETURN 1")))

    versions = [script.version for script in found.migrations]
    assert versions == ["0.9", "1", "1.1", "002", "10", "R__a", "R__b"]


def test_names_become_descriptions(folder):
    """Words of the name are the description; the source is the whole name."""
    [script] = own_scripts(folder(V001_2__add_all_people="RETURN 1")).migrations

    assert (script.description, script.source) == (
        "add all people",
        "V001_2__add_all_people.cypher",
    )
    assert not script.repeatable


@pytest.mark.parametrize(
    "name", ["V1", "V1_a", "V1__", "v1__a", "Va__a", "R_a", "X1__a", "V1__a-b"]
)
def test_other_names_are_refused(folder, name):
    """A file that is not a migration by its name is a mistake, not left out."""
    with pytest.raises(BadScriptName, match=f"`{name}.cypher` is not a name of a migration"):
        own_scripts(folder(**{name: "RETURN 1"}))


@pytest.mark.parametrize("other", ["V001__b", "V1_0__b"])
def test_doubled_versions_are_refused(folder, other):
    """Two files with the same version are refused, however it is written."""
    with pytest.raises(BadScriptName, match="are the same version"):
        own_scripts(folder(V1__a="RETURN 1", **{other: "RETURN 1"}))


def test_doubled_triggers_are_refused(folder):
    """Two files for a trigger of one name are refused."""
    text = "// trigger: a\n// phase: before\nRETURN 1"
    with pytest.raises(BadScriptName, match="are the same version or name"):
        own_scripts(folder(trigger_a=text, trigger_b=text))


def test_a_header_says_each_thing_once(folder):
    """A trigger with two phases is refused."""
    text = "// trigger: a\n// phase: before\n// phase: after\nRETURN 1"
    with pytest.raises(TriggerRefused, match="says something twice"):
        own_scripts(folder(trigger_a=text))


def test_files_that_are_no_text_are_refused(folder):
    """A file that is not UTF-8 is named."""
    with pytest.raises(BadScript, match=r"`V1__a.cypher` is not text in UTF-8"):
        own_scripts(folder(V1__a=b"RETURN '\xff'"))


def test_a_folder_without_scripts_is_refused(tmp_path):
    """The folder above `migrations` and `triggers` is wanted; no path is told."""
    with pytest.raises(BadScript, match="has neither `migrations` nor `triggers`") as refused:
        own_scripts(tmp_path / "gone")

    assert str(tmp_path) not in refused.value.message


def test_a_migration_beside_the_folder_of_migrations_is_refused(folder):
    """It would be passed over without a word."""
    beside = folder(V1__a="RETURN 1")
    (beside / "V2__b.cypher").write_text("RETURN 2")
    (beside / "notes.cypher").write_text("RETURN 3")

    with pytest.raises(BadScript, match=r"`V2__b.cypher` is not in the folder `migrations`"):
        own_scripts(beside)


def test_the_shipped_scripts_can_be_read():
    """What ships has good names and headers."""
    found = shipped_scripts()

    assert found.migrations
    assert found.target == "sidecypher"


def test_a_checksum_is_that_of_the_text():
    """Comments count, ends of lines do not, and the values are known ones."""
    assert checksum("RETURN 1;\r\nRETURN 2;") == checksum("RETURN 1;\nRETURN 2\n")
    assert checksum("RETURN\r\n1;") == checksum("RETURN\n1")
    assert checksum("// a\nRETURN 1") != checksum("RETURN 1")
    assert checksum("") == "0"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("// A\nCREATE INDEX theirs IF NOT EXISTS FOR (n:Theirs) ON (n.x);\n", "243873797"),
        ("CREATE (:Theirs {x: ';'});\n\n  CREATE (:Theirs {x: '\xf6'}) ;\n", "3489217490"),
        (":use neo4j;\n// said\nMERGE (:Theirs {x: 3});\n// the end\n", "3803241053"),
        ("MERGE (:Theirs {x: 5})", "3306947164"),
    ],
)
def test_a_checksum_is_that_of_neo4j_migrations(text, number):
    """neo4j-migrations 2.17.3 records this number for the script."""
    assert checksum(text) == number


PRECONDITIONS = [
    "assume that edition is community",
    "assert that version is ge 5.26",
    "ASSERT in target q' RETURN true",
]


@pytest.mark.parametrize("text", PRECONDITIONS)
def test_preconditions_are_refused(text):
    """A script whose condition another tool would check does not run unchecked here."""
    with pytest.raises(BadScript, match=r"`V1__a.cypher`, line 2, has a precondition"):
        read_script("V1__a.cypher", f"// people\n// {text}\nRETURN 1")


def test_prose_is_not_a_precondition():
    """A comment that only begins with the same word is a comment."""
    assert read_script("V1__a.cypher", "// Assume nothing.\n// assert it\nRETURN 1").statements


COMMANDS = {
    "CREATE CONSTRAINT a IF NOT EXISTS FOR (c:Concept) REQUIRE c.key IS UNIQUE": (
        "constraint",
        "a",
        "UNIQUE",
        ("Concept",),
        ("key",),
    ),
    "CYPHER 5 create constraint for (c:C) require (c.a, c.`b.c`) is node unique": (
        "constraint",
        "",
        "UNIQUE",
        ("C",),
        ("a", "b.c"),
    ),
    "CREATE CONSTRAINT a FOR (c:C) REQUIRE c.a IS NODE KEY": (
        "constraint",
        "a",
        "OTHER",
        ("C",),
        ("a",),
    ),
    "CREATE INDEX FOR ()-[r:KNOWS]-() ON (r.since)": ("index", "", "RANGE", ("KNOWS",), ("since",)),
    "CREATE LOOKUP INDEX l FOR (n) ON EACH labels(n)": ("index", "l", "LOOKUP", (), ()),
    "CREATE VECTOR INDEX v FOR (n:`A:B`) ON n.e OPTIONS {indexConfig: {`vector.x`: 3}}": (
        "index",
        "v",
        "VECTOR",
        ("A:B",),
        ("e",),
    ),
    "CREATE FULLTEXT INDEX f FOR (n:B|A) ON EACH [n.y, n.x] // n.z": (
        "index",
        "f",
        "FULLTEXT",
        ("A", "B"),
        ("y", "x"),
    ),
    "CREATE INDEX o FOR (n:Options) ON (n.on) OPTIONS {}": (
        "index",
        "o",
        "RANGE",
        ("Options",),
        ("on",),
    ),
    "CREATE CONSTRAINT n FOR (o:On) REQUIRE o.require IS UNIQUE": (
        "constraint",
        "n",
        "UNIQUE",
        ("On",),
        ("require",),
    ),
}


@pytest.mark.parametrize(("text", "expected"), COMMANDS.items(), ids=COMMANDS)
def test_what_a_command_creates(text, expected):
    """Kind, name, type, labels and properties are read from a schema command."""
    creates, item = read_command(text)

    assert creates
    assert (item.kind, item.name, item.type, item.labels, item.properties) == expected


@pytest.mark.parametrize("text", ["CREATE (n)", "CREATE", "DROP", "MATCH (n) RETURN n", "RETURN 1"])
def test_other_statements_create_no_schema(text):
    """What is not a schema command is not taken for one."""
    assert read_command(text) is None


def test_what_a_later_script_drops_is_not_declared(folder):
    """Only what is there after all scripts is wanted; a command for `system` is none of it."""
    found = own_scripts(
        folder(
            V1__a="CREATE INDEX a FOR (n:N) ON (n.a); CREATE INDEX b FOR (n:N) ON (n.b);",
            V2__b="DROP INDEX a IF EXISTS;\n:use system\nCREATE INDEX c FOR (n:N) ON (n.c)",
        )
    )

    assert [one.item.name for one in declared(found.migrations)] == ["b"]


def test_what_stands_behind_use_is_declared_for_that_database(folder):
    """`:use` with the graph's own name changes nothing; another database is not a concern."""
    found = own_scripts(
        folder(
            V1__a=":use neo4j\nCREATE INDEX a FOR (n:N) ON (n.a);\n"
            ":use other\nCREATE INDEX b FOR (n:N) ON (n.b)",
        )
    )

    assert [one.item.name for one in declared(found.migrations, "neo4j")] == ["a"]


def index(name, *, label="N", kind="RANGE"):
    return Existing(Item("index", name, kind, (label,), ("a",)), "ONLINE")


@pytest.mark.parametrize(
    ("there", "problem"),
    [
        ([index("a")], None),
        ([index("mine")], None),
        ([index("a", label="Other")], "different"),
        ([index("a", kind="TEXT")], "different"),
        ([index("mine", label="Other")], "missing"),
        ([replace(index("a"), state="FAILED")], "failed"),
    ],
)
def test_schema_is_compared_by_name_and_contents(folder, there, problem):
    """An index of the same name must do the same; one of another name that does is as good."""
    scripts = own_scripts(folder(V1__a="CREATE INDEX a FOR (n:N) ON (n.a)"))
    [one] = declared(scripts.migrations)

    assert one.problem(there) == problem


def test_states(folder):
    """Files and chain side by side tell what is applied, changed, missing and pending."""
    scripts = own_scripts(folder(V1__a="RETURN 1", V2__b="RETURN 2", V4__d="RETURN 4")).migrations
    kept = scripts[0].checksum
    chain = [
        Applied("BASELINE", "1", "a", "V1__a.cypher", kept, False, None, "", 0.1),
        Applied("1", "2", "b", "V2__b.cypher", "0", False, None, "", 0.1),
        Applied("2", "3", "c", "V3__c.cypher", "0", False, None, "", 0.1),
    ]

    assert [(each.version, each.state) for each in migration_states(scripts, chain)] == [
        ("1", "applied"),
        ("2", "changed"),
        ("3", "missing"),
        ("4", "pending"),
    ]
