"""A vending machine as a state machine, driven by a script of events."""

import asyncio

from machine.core import Machine, TransitionError
from machine.hooks import History, hooks
from machine.vending import VendingMachine

SCRIPT = ["coin 50", "coin 100", "select cola", "take", "select water", "coin 20", "refund", "kick"]


async def feed(queue, script):
    for line in script:
        await queue.put(parse(line))
    await queue.put(None)


def parse(line):
    name, *arguments = line.split()
    return name, [convert(argument) for argument in arguments]


def convert(text):
    return int(text) if text.isdigit() else text


async def drive(machine: Machine, queue):
    while (event := await queue.get()) is not None:
        name, arguments = event
        try:
            machine.fire(name, *arguments)
        except TransitionError as error:
            report(error)


def report(error):
    print("refused:", error.event, "in", error.state)


async def main():
    history = History()
    machine = VendingMachine(prices={"cola": 120, "water": 80})
    machine.observers.append(history.record)
    machine.observers.append(hooks["print"])
    queue = asyncio.Queue()
    await asyncio.gather(feed(queue, SCRIPT), drive(machine, queue))
    for line in history.lines():
        print(line)
    print(machine.trace_of("idle"))


if __name__ == "__main__":
    asyncio.run(main())
