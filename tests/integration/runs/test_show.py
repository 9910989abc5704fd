"""`sidecypher runs show` on a real installation, as docs/runs.md shows it."""

from docs.pages import ROOT, page_named, section

EXAMPLE = section("docs/runs.md", "See what an agent did")
PICTURE = "docs/runs-timeline.svg"


def block(info):
    """The last fenced block of a kind in the section."""
    return EXAMPLE.rpartition(f"```{info}\n")[2].partition("```")[0]


def test_the_example_of_the_pages_is_what_the_command_draws(session, server, tmp_path):
    """Text and picture of docs/runs.md are those of the run that its Cypher block writes."""
    session.run(block("cypher")).consume()
    file = tmp_path / "picture.svg"

    done = server.command("runs", "show", "triage-7", "--svg", file)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == block("text")
    assert file.read_text("utf-8") == page_named(PICTURE), f"write it anew to {ROOT / PICTURE}"


def test_a_run_that_is_not_there_is_named(session, server, tmp_path):
    """It is an error with its code; no picture is written."""
    file = tmp_path / "picture.svg"
    done = server.command("runs", "show", "none", "--svg", file)

    assert (done.returncode, done.stdout) == (1, "")
    assert "There is no run `none`" in done.stderr
    assert "SC-903" in done.stderr
    assert not file.exists()


def test_a_picture_that_cannot_be_written_is_an_error(runs, server, tmp_path):
    """The error says so; there is no traceback."""
    run = runs.new()
    done = server.command("runs", "show", run, "--svg", tmp_path / "none" / "picture.svg")

    assert done.returncode == 1
    assert "SC-614" in done.stderr
    assert "picture.svg" in done.stderr
    assert "change to an existing folder" in done.stderr
    assert "Traceback" not in done.stderr
