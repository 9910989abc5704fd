from __future__ import annotations

from typing import Protocol

from .models import euros


class Payment(Protocol):
    def pay(self, cents: int) -> str: ...


class CardPayment:
    def __init__(self, number: str) -> None:
        self.number = number

    def pay(self, cents: int) -> str:
        return f"{euros(cents)} by card {self._masked()}"

    def _masked(self) -> str:
        return "*" * 4 + self.number[-4:]


class InvoicePayment:
    def __init__(self, *, days: int) -> None:
        self.days = days

    def pay(self, cents: int) -> str:
        return f"{euros(cents)} within {self.days} days"
