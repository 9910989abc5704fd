"""A purchase."""

from cart import Cart


def buy(day: str) -> float:
    """Buy two apples."""
    cart = Cart()
    cart.add("apple")
    cart.add("apple")
    return cart.total(day)


if __name__ == "__main__":
    buy("Monday")
