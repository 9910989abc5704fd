"""What things cost."""


def price_of(item: str, day: str) -> float:
    """Return the price of an item on a day."""
    rule = RULES.get(day, full_price)
    return rule(item)


def full_price(item: str) -> float:
    """Return the price on most days."""
    return float(len(item))


def half_price(item: str) -> float:
    """Return the price on Mondays."""
    return full_price(item) / 2


RULES = {"Monday": half_price}
