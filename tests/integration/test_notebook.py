"""docs/notebook.ipynb, run from its first cell to its last on a real Neo4j."""

import nbformat
from docs.pages import ROOT
from nbclient import NotebookClient

FILE = ROOT / "docs/notebook.ipynb"


def outputs(notebook):
    """What each code cell shows: texts of results and of errors."""
    return [
        [output["data"]["text/plain"] for output in cell["outputs"] if "data" in output]
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]


def test_the_notebook_gives_what_it_shows(server, monkeypatch, tmp_path):
    """Every cell runs, and shows the table that is saved in the notebook."""
    monkeypatch.setenv("NEO4J_URI", server.facts["bolt"])
    monkeypatch.setenv("NEO4J_PASSWORD", server.password)
    # Where Jupyter and IPython keep files of a user.
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    saved = nbformat.read(FILE, as_version=4)
    run = nbformat.read(FILE, as_version=4)

    NotebookClient(run, timeout=120, kernel_name="python3").execute()

    assert [len(shown) for shown in outputs(saved)] == [0, 1, 1, 0]
    assert outputs(run) == outputs(saved)
