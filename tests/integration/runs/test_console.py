"""Runs on the console, with a real Neo4j behind it."""


def test_a_run_is_listed_and_drawn(blocks, runs, server):
    """The panel has what `runs.list` returns, and the picture of `sidecypher runs show`."""
    run = runs.new()
    runs.append(run)
    file = server.home / "picture.svg"
    assert server.command("runs", "show", run, "--svg", file).returncode == 0

    [table] = blocks("runs")
    [picture] = blocks("runs", run)

    row = table["rows"][table["ids"].index(run)]
    [listed] = [each for each in runs.call("list") if each["id"] == run]
    assert (row[0], row[2], row[5]) == (run, listed["state"], 1)
    assert picture["svg"] == file.read_text("utf-8")
    assert blocks("runs", "none")[0]["text"] == "There is no run of this id."
