"""The files of `deploy`: the pages show them, and the programs that read them accept them."""

import os
import re
import shutil
import subprocess

import kubernetes_validate
import pytest
import yaml
from docs.pages import ROOT, blocks

from sidecypher.host.settings import PREFIX, Settings, load_settings

DEPLOY = ROOT / "deploy"
FILES = sorted(path for path in DEPLOY.iterdir() if path.is_file() and path.name != ".gitignore")
KUBERNETES = "1.33"
VALUES = yaml.safe_load((DEPLOY / "neo4j-values.yaml").read_text())
[SIDECAR] = VALUES["podSpec"]["containers"]


def needed(name):
    """Return a program; where it is missing the test skips, but not on CI."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found is None:
        if os.environ.get("CI"):
            pytest.fail(f"`{name}` is missing: .ci/run installs it")
        pytest.skip(f"`{name}` is not installed, so a file of `deploy` is not tested")
    return found


def check(api):
    """Raise an error for what the API of Kubernetes would refuse."""
    kubernetes_validate.validate(api, KUBERNETES, strict=True)


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_a_page_shows_the_file_as_it_is(file):
    """Every file that ships is a block of a page, and is equal to it."""
    assert file.read_text() in [block.text for block in blocks("yaml", "ini", "text")]


@pytest.mark.parametrize("block", blocks("yaml", "ini"), ids=str)
def test_a_page_shows_no_other_file(block):
    """What a page shows in these formats is a file that ships."""
    assert block.text in [file.read_text() for file in FILES]


def test_the_pod_of_the_values_is_valid():
    """The container, its volumes and mounts make a pod that Kubernetes' own schema accepts."""
    neo4j = {
        "name": "neo4j",
        "image": VALUES["image"]["customImage"],
        "env": [{"name": name, "value": value} for name, value in VALUES["env"].items()],
        "volumeMounts": VALUES["additionalVolumeMounts"],
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "graph-0"},
        "spec": {"containers": [neo4j, SIDECAR], "volumes": VALUES["additionalVolumes"]},
    }

    check(pod)

    wrong = {**pod, "spec": {**pod["spec"], "containers": [neo4j, SIDECAR | {"probe": {}}]}}
    with pytest.raises(kubernetes_validate.ValidationError):
        check(wrong)


def test_both_containers_share_the_run_folder():
    """Each mounted volume is there, and Neo4j looks for the folder in the one that both mount."""
    volumes = {each["name"] for each in VALUES["additionalVolumes"]}
    mounts = {each["name"]: each["mountPath"] for each in SIDECAR["volumeMounts"]}
    [shared] = VALUES["additionalVolumeMounts"]

    assert set(mounts) == volumes
    assert mounts[shared["name"]] == shared["mountPath"]
    assert VALUES["env"]["SIDECYPHER_RUN_DIR"] == f"{shared['mountPath']}/run"
    image = (ROOT / "docker" / "sidecar.Dockerfile").read_text()
    assert f"SIDECYPHER_HOME={shared['mountPath']} " in image


def test_probes_and_monitor_name_the_port_of_the_image():
    """The port of the container is the one that the image listens on."""
    [port] = SIDECAR["ports"]
    image = (ROOT / "docker" / "sidecar.Dockerfile").read_text()
    monitor = yaml.safe_load((DEPLOY / "podmonitor.yaml").read_text())
    [endpoint] = monitor["spec"]["podMetricsEndpoints"]
    probes = [SIDECAR[name]["httpGet"] for name in SIDECAR if name.endswith("Probe")]

    assert f"SIDECYPHER_HTTP_PORT={port['containerPort']}" in image
    assert {each["port"] for each in (*probes, endpoint)} == {port["name"]}
    assert {each["path"] for each in probes} == {"/livez", "/readyz"}
    secrets = [
        each["secret"]["secretName"] for each in VALUES["additionalVolumes"] if "secret" in each
    ]
    assert endpoint["authorization"]["credentials"]["name"] in secrets


def test_the_variables_are_settings(tmp_path):
    """Each variable of the sidecar's container is read, and lets the kubelet in by token."""
    environ = {each["name"]: each["value"] for each in SIDECAR["env"]}
    password = tmp_path / "password"
    password.write_text("secret")

    found = load_settings({}, environ | {"SIDECYPHER_NEO4J_PASSWORD_FILE": str(password)})

    ours = {name.removeprefix(PREFIX).lower() for name in environ if name.startswith(PREFIX)}
    assert ours - {"neo4j_password_file"} <= set(Settings.model_fields)
    assert (found.http_host, found.neo4j_uri) == ("0.0.0.0", "bolt://127.0.0.1:7687")


def test_the_network_policy_is_valid():
    """Kubernetes' own schema accepts it."""
    check(yaml.safe_load((DEPLOY / "networkpolicy.yaml").read_text()))


def test_systemd_accepts_the_unit(tmp_path):
    """It knows every key, and finds the account and the program when they are there."""
    unit = tmp_path / "sidecypher.service"
    text = (DEPLOY / "sidecypher.service").read_text()
    unit.write_text(
        re.sub("=neo4j$", "=root", text, flags=re.MULTILINE).replace(
            "/opt/sidecypher/bin/sidecypher", "/bin/true"
        )
    )
    verify = [needed("systemd-analyze"), "verify", unit]

    assert subprocess.run(verify, capture_output=True, text=True, check=True).stderr == ""

    unit.write_text(unit.read_text().replace("Restart=", "Restarts="))
    told = subprocess.run(verify, capture_output=True, text=True, check=False).stderr
    assert "Restarts" in told


def test_the_first_start_of_the_unit_finds_its_files():
    """Output goes where nothing has to be made before, and what is temporary can be written."""
    unit = (DEPLOY / "sidecypher.service").read_text()
    keys = dict(re.findall(r"^(\w+)=(.*)$", unit, re.MULTILINE))

    # systemd opens these before it makes the folder of `LogsDirectory`, and as root:
    # https://github.com/systemd/systemd/issues/27591
    assert not {"StandardOutput", "StandardError"} & keys.keys()
    # With `ProtectSystem=strict`, /tmp is read-only.
    assert (keys["ProtectSystem"], keys["PrivateTmp"]) == ("strict", "true")
