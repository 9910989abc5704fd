from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Product:
    name: str
    cents: int
    stock: int

    def take(self, count: int) -> None:
        self.stock -= count

    def available(self, count: int) -> bool:
        return self.stock >= count


@dataclass
class Line:
    product: Product
    count: int

    @property
    def cents(self) -> int:
        return self.product.cents * self.count


@dataclass
class Order:
    customer: str
    lines: list[Line] = field(default_factory=list)
    number: int | None = None

    def add(self, product: Product, count: int) -> Order:
        self.lines.append(Line(product, count))
        return self

    def total(self) -> int:
        return sum(line.cents for line in self.lines)

    def summary(self) -> str:
        return f"#{self.number} {self.customer}: {euros(self.total())}"


def euros(cents: int) -> str:
    return f"{cents / 100:.2f} EUR"
