from typing import Iterable, Protocol


class Priced(Protocol):
    def price(self) -> float: ...


class Book:
    def __init__(self, pages: int):
        self.pages = pages

    def price(self) -> float:
        return self.pages * 0.05


class Discounted:
    def __init__(self, item: Priced, percent: float):
        self.item = item
        self.percent = percent

    def price(self) -> float:
        return self.item.price() * (1 - self.percent / 100)


def total(items: Iterable[Priced]) -> float:
    return sum(item.price() for item in items)


novel = Book(200)
print(total([novel, Discounted(novel, 50)]))
