"""What a customer wants to buy."""

from prices import price_of


class Cart:
    """Items of one customer."""

    def __init__(self) -> None:
        self.items: list[str] = []

    def add(self, item: str) -> None:
        """Put an item into the cart."""
        self.items.append(item)

    def total(self, day: str) -> float:
        """Return the price of all items on a day."""
        return sum(price_of(item, day) for item in self.items)
