"""The client of docs/http.md works."""

import httpx
import pytest
from docs.pages import ROOT, run_python

from sidecypher.app import Sidecar
from sidecypher.host.settings import load_settings


@pytest.fixture
def home(tmp_path):
    """The home of a sidecar that runs in this process."""
    procedures = ROOT / "tests/procedures"
    sidecar = Sidecar(load_settings({"home": tmp_path, "procedures": [procedures]}, {}))
    sidecar.start()
    yield tmp_path
    sidecar.stop()


def test_the_client_of_the_page_calls_procedures(home):
    """The function of the page finds the sidecar, proves itself, and returns rows."""
    call = vars(run_python("docs/http.md"))["call"]

    assert call(home, "test.described", name="Ann", limit=1) == [{"score": 1.0, "name": "Ann"}]
    with pytest.raises(httpx.HTTPStatusError, match="404 Not Found"):
        call(home, "test.nothing")
