"""Which states a run can enter, without a server."""

import pytest

from sidecypher_procedures.runs.errors import IllegalState
from sidecypher_procedures.runs.model import RunStatus


def test_a_failed_run_is_resumed_before_it_completes():
    """It can only become `running`."""
    failed = RunStatus("error")

    assert failed.after("status", "running").state == "running"
    for state in ("pending", "completed", "timedOut"):
        with pytest.raises(IllegalState, match=f"`error` cannot become `{state}`"):
            failed.after("workflowState", state)


def test_a_cancelled_run_stays_cancelled():
    """Unlike one that has failed it cannot be resumed."""
    cancelled = RunStatus().after("workflowCancelled", None)

    with pytest.raises(IllegalState, match="`cancelled` cannot become `running`"):
        cancelled.after("workflowStarted", None)
