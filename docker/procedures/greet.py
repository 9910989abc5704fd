"""An example; put your own modules next to it, or replace it."""

from sidecypher import Row, procedure


class Greeting(Row):
    """Result of `demo.greet`."""

    text: str


@procedure("demo.greet")
def greet(name: str) -> Greeting:
    """Greet somebody."""
    return Greeting(text=f"Hello {name}")
