from __future__ import annotations

from collections import Counter
from typing import Callable

from .models import Order, Product, euros
from .payment import Payment
from .repositories import OrderRepository, ProductRepository


class OutOfStock(Exception):
    def __init__(self, product: Product) -> None:
        super().__init__(product.name)
        self.product = product

    def advice(self) -> str:
        return f"only {self.product.stock} of {self.product.name} left"


class Mailer:
    def __init__(self) -> None:
        self.outbox: list[str] = []

    def send(self, to: str, text: str) -> None:
        self.outbox.append(f"{to}: {text}")


class OrderService:
    def __init__(
        self,
        products: ProductRepository,
        orders: OrderRepository,
        notify: Callable[[str, str], None],
    ) -> None:
        self._products = products
        self._orders = orders
        self._notify = notify

    def place(self, customer: str, wishes: dict[str, int], payment: Payment) -> Order:
        order = Order(customer)
        for name, count in wishes.items():
            order.add(self._reserve(name, count), count)
        receipt = payment.pay(order.total())
        self._notify(customer, receipt)
        return self._orders.save(order)

    def _reserve(self, name: str, count: int) -> Product:
        product = self._products.get(name)
        if not product.available(count):
            raise OutOfStock(product)
        product.take(count)
        return product


class Reports:
    def __init__(self, orders: OrderRepository) -> None:
        self._orders = orders

    def revenue(self) -> str:
        return euros(sum(order.total() for order in self._orders.all()))

    def best_customer(self) -> str | None:
        spent: Counter[str] = Counter()
        for order in self._orders.all():
            spent[order.customer] += order.total()
        if not spent:
            return self._nobody()
        return max(spent, key=lambda customer: len(self._orders.of(customer)))

    def _nobody(self) -> None:
        return None
