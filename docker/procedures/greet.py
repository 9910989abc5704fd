"""An example; put modules of your own beside it, or in its place."""

from sidecypher import Row, procedure


class Greeting(Row):
    """What `demo.greet` yields."""

    text: str


@procedure("demo.greet")
def greet(name: str) -> Greeting:
    """Greet somebody."""
    return Greeting(text=f"Hello {name}")
