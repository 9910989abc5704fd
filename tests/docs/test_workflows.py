"""The workflows of this repository, and the one of a new project."""

import re
import shutil
import sys
from pathlib import Path

import pytest
import yaml
from docs.pages import ROOT
from fix_wheel import run_program

OWN = sorted(ROOT.glob(".github/workflows/*.yml"))
TOOLS = Path(sys.executable).parent
PIN = re.compile(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+")


@pytest.fixture(scope="session")
def workflows(tmp_path_factory):
    """A folder with all of them, as a code host wants it."""
    folder = tmp_path_factory.mktemp("repository")
    run_program(sys.executable, "-m", "sidecypher", "init", "people", cwd=folder)
    for each in OWN:
        shutil.copy(each, folder / "people/.github/workflows" / f"own-{each.name}")
    return folder / "people/.github/workflows"


def test_workflows_are_what_github_reads(workflows):
    """Each file fits the schema of workflows."""
    schema = ("--builtin-schema", "vendor.github-workflows")

    run_program(TOOLS / "check-jsonschema", *schema, *workflows.iterdir())


def test_no_workflow_can_be_misused(workflows):
    """zizmor finds no injection, kept credential or needless right, and no action by its tag."""
    run_program(TOOLS / "zizmor", "--offline", "--persona", "pedantic", workflows)


def test_actions_are_pinned_with_their_versions(workflows):
    """An action is a commit and the version it has; one action is one commit everywhere."""
    lines = "\n".join(each.read_text() for each in workflows.iterdir())
    used = re.findall(r"uses: ([^.].*)", lines)
    actions = {each.partition("@")[0] for each in used}

    assert [each for each in used if not PIN.fullmatch(each)] == []
    assert len(set(used)) == len(actions)


def test_ci_runs_what_contributors_run():
    """`ci.yml` calls `.ci/run`, and nothing that only CI could fail at."""
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]

    assert commands == ['sudo env "PATH=$PATH" .ci/run']
