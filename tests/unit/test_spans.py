"""Spans are sent only when they are wanted, and what that needs is loaded only then."""

import subprocess
import sys

import pytest

from sidecypher.errors import SettingsError
from sidecypher.telemetry.export import export_spans

SIDECAR = """
import sys
from sidecypher.app import Sidecar
from sidecypher.host.settings import load_settings

sidecar = Sidecar(load_settings({"home": sys.argv[1], "traces": sys.argv[2]}, {}))
sidecar.start()
sidecar.stop()
print(sorted({"opentelemetry.sdk", "requests", "google.protobuf"} & set(sys.modules)))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("traces", "loaded"),
    [("false", []), ("true", ["google.protobuf", "opentelemetry.sdk", "requests"])],
)
def test_the_sdk_is_loaded_only_when_traces_are_kept(tmp_path, clean_environment, traces, loaded):
    """A sidecar that keeps no traces has loaded nothing of what would send them."""
    done = subprocess.run(
        [sys.executable, "-c", SIDECAR, tmp_path, traces],
        env=clean_environment,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.splitlines()[-1] == str(loaded)


def test_a_missing_sdk_is_told_with_what_to_install(monkeypatch):
    """Who wants traces without the extra is told its name."""
    monkeypatch.delitem(sys.modules, "sidecypher.telemetry._otlp", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)

    with pytest.raises(SettingsError, match="OpenTelemetry's SDK, which is not inst") as caught:
        export_spans()

    assert "`sidecypher[otel]`" in caught.value.hint


def test_a_wrong_variable_is_an_error_of_the_settings(monkeypatch):
    """A value of a standard variable that the SDK refuses is told at the start."""
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "1")

    with pytest.raises(SettingsError, match=r"`OTEL_\*` has a value that cannot be used"):
        export_spans()
