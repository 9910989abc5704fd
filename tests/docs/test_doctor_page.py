"""The page about the doctor has every check, and nothing else."""

import json

from docs.pages import ROOT, blocks, code_in, headings, page_named, rows, section

from sidecypher import Check, Finding
from sidecypher.cli.doctor.report import all_checks, facts_of

PAGE = "docs/doctor.md"


def documented():
    """Return group and name of each check that the page has, in its order."""
    groups = headings(ROOT / PAGE)
    first, last = groups.index("The checks"), groups.index("JSON")
    return [
        (group, code_in(row[0])[0])
        for group in groups[first + 1 : last]
        for row in rows(section(PAGE, group), "check")
    ]


def test_the_page_has_every_check():
    """Group by group, the page has each check by its name, in the order of the report."""
    assert documented() == [(check.group, check.name) for check in all_checks()]


def test_the_page_tells_what_each_check_may_say():
    """Each line says what is looked at, and which states it may have beside `OK`."""
    for row in rows(page_named(PAGE), "check"):
        assert all(row)
        assert {"ERROR", "WARN"} & set(code_in(row[2])) or row[2] == "the same"


def test_the_members_of_the_json_are_documented():
    """The page has the members that `--json` prints, and its example has them too."""
    facts = facts_of([(Check("Neo4j", "clock", None), Finding.warn("it is late", "Have it set."))])
    (example,) = (json.loads(block.text) for block in blocks("json", pages=[ROOT / PAGE]))

    assert [code_in(row[0])[0] for row in rows(section(PAGE, "JSON"), "member")] == list(facts)
    assert list(example) == list(facts)
    assert list(example["checks"][0]) == list(facts["checks"][0])
    assert example["counts"].keys() == facts["counts"].keys()
