"""Functions of steps for tests of sessions."""

import asyncio

from sidecypher import StepContext, step


@step("test.upper")
def upper(text: str) -> str:
    """Return a text in capitals."""
    return text.upper()


@step("test.later")
async def later(step: StepContext, text: str, seconds: float = 0.0) -> dict[str, str]:
    """Return a text after some time, with the key of its execution."""
    await asyncio.sleep(seconds)
    return {"text": text, "key": step.key}


@step("test.fails")
def fails(text: str) -> str:
    """Raise an error whose text must reach nobody."""
    raise ValueError(text)
