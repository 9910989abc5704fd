"""F12: a body crashes its process."""


def test_a_body_that_crashes_loses_its_worker_alone(lose_worker, evidence):
    """Its caller is told the signal; the sidecar, its other worker and their calls go on."""
    told = lose_worker("process.crash")

    assert "`process.crash` was ended by SIGSEGV" in told
    evidence.logged("worker lost", procedure="process.crash", how="was ended by SIGSEGV")
