"""F11: a body takes more and more memory."""


def test_a_body_that_takes_too_much_memory_loses_its_worker_alone(lose_worker):
    """Its caller is told the limit; the sidecar, its other worker and their calls go on."""
    told = lose_worker("process.grow")

    assert "`process.grow` needed more than the 1024 MiB it may use" in told
