"""What a driver does with the calls of its sidecar, with actors that are not Ray's."""

import asyncio

from fix_waiting import awaited, wait_until

from sidecypher.calls.executors.pool_messages import Setup, Task
from sidecypher.calls.executors.ray.calls import Calls
from sidecypher.calls.executors.ray.messages import Cancel, DriverSetup, Submit
from sidecypher.sdk.registry import RayOptions


class Driver:
    """The calls of a driver, and what it has sent."""

    def __init__(self):
        setup = Setup([], None, 512, 1024, "INFO", "json", traces=False)
        self.sent = []
        self.handle = Calls(DriverSetup(setup, "", ""), self.sent.append).handle

    @property
    def codes(self):
        return {each.call_id: each.error and each.error.code for each in self.sent}


def submit(call_id, *arguments, is_batch=False, **options):
    task = Task(call_id, "procedure", "test.run", "", [*arguments], "", "", 60.0, "")
    return Submit(task, RayOptions(**options), is_batch)


async def until(condition):
    await asyncio.to_thread(wait_until, condition)


@awaited
async def test_a_call_that_is_cancelled_before_it_begins_is_told():
    """A cancellation that arrives together with its call gives that call its outcome."""
    driver = Driver()
    loop = asyncio.get_running_loop()

    loop.call_soon(driver.handle, submit("1"))
    loop.call_soon(driver.handle, Cancel("1"))

    await until(lambda: driver.sent)
    assert driver.codes == {"1": "SC-207"}
