"""Events of the outbox reach the graph, each once and in order."""


def texts(*numbers):
    return [f"message {number}" for number in numbers]


def test_added_events_reach_the_graph_in_order(outbox):
    """Events of a run are written in the order of their addition, also those before a worker."""
    run, other = outbox.new_run(), outbox.new_run()
    outbox.add(run, *texts(0, 1, 2))
    outbox.start()
    outbox.await_contents(run, texts(0, 1, 2))
    for number in range(3, 6):
        outbox.add(run, f"message {number}")
        outbox.add(other, f"message {number}")
    outbox.await_contents(run, texts(0, 1, 2, 3, 4, 5))
    outbox.await_contents(other, texts(3, 4, 5))
