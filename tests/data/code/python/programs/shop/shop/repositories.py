from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, Iterator, TypeVar

from .models import Order, Product

Entity = TypeVar("Entity")


class Repository(ABC, Generic[Entity]):
    def __init__(self) -> None:
        self._rows: dict = {}

    @abstractmethod
    def key(self, entity: Entity): ...

    def save(self, entity: Entity) -> Entity:
        self._rows[self.key(entity)] = entity
        return entity

    def get(self, key) -> Entity:
        return self._rows[key]

    def all(self) -> Iterator[Entity]:
        yield from self._rows.values()


class ProductRepository(Repository[Product]):
    def key(self, entity: Product) -> str:
        return entity.name


class OrderRepository(Repository[Order]):
    def __init__(self) -> None:
        super().__init__()
        self._next = 1

    def key(self, entity: Order) -> int:
        if entity.number is None:
            entity.number = self._new_number()
        return entity.number

    def _new_number(self) -> int:
        number, self._next = self._next, self._next + 1
        return number

    def of(self, customer: str) -> list[Order]:
        return [order for order in self.all() if order.customer == customer]
