"""F51: the file of deliveries cannot be written, or is none."""

import contextlib
import resource

import pytest
from fix_webhooks import SECRET, Sender

from sidecypher_procedures.github.webhooks.spool import FILE

ISSUE = {"action": "opened", "repository": {"id": 1}, "issue": {"number": 7, "body": 9000 * "x"}}


@pytest.fixture
def sidecar(start_sidecar):
    """A sidecar with the secret of the webhooks, without Neo4j."""
    return start_sidecar(SIDECYPHER_GITHUB_WEBHOOK_SECRET=SECRET)


@pytest.fixture
def sender(sidecar):
    with contextlib.closing(Sender(sidecar.announcement().http)) as made:
        yield made


def _limit(sidecar, most):
    """Let no file of a process grow beyond so many bytes, as on a full disk."""
    resource.prlimit(sidecar.process.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))


def test_a_delivery_without_room_is_refused_until_there_is_some(sidecar, sender):
    """It is a 503 that says when to send it again, and others are answered."""
    assert sender.deliver("issues", ISSUE, "first").status_code == 202
    _limit(sidecar, 1)

    refused = [sender.deliver("issues", ISSUE, f"refused-{number}") for number in range(3)]

    assert {each.status_code for each in refused} == {503}
    assert {each.headers["retry-after"] for each in refused} == {"1"}
    assert {each.json()["code"] for each in refused} == {"SC-531"}
    assert str(sidecar.home) not in refused[0].text
    assert sender.deliver("ping", {}, "ping").status_code == 200
    _limit(sidecar, resource.RLIM_INFINITY)
    assert sender.deliver("issues", ISSUE, "refused-0").status_code == 202


def test_a_damaged_file_is_told_and_not_overwritten(start_sidecar, tmp_path):
    """Each delivery is refused until the file is moved away, and the log says why."""
    home = tmp_path / "home"
    home.mkdir()
    file = home / FILE
    file.write_bytes(b"no database" * 1000)
    sidecar = start_sidecar(SIDECYPHER_GITHUB_WEBHOOK_SECRET=SECRET)
    with contextlib.closing(Sender(sidecar.announcement().http)) as sender:
        answer = sender.deliver("issues", ISSUE, "first")

        assert (answer.status_code, answer.json()["code"]) == (503, "SC-531")
        assert "file is not a database" in answer.json()["detail"]
        assert file.read_bytes() == b"no database" * 1000
        told = {line["event"] for line in sidecar.logged()}
        assert {"webhook not stored", "webhooks not written"} <= told
        file.unlink()
        assert sender.deliver("issues", ISSUE, "first").status_code == 202
