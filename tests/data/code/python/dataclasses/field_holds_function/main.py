from dataclasses import dataclass
from typing import Callable


@dataclass(frozen=True)
class Rule:
    name: str
    applies: Callable[[int], bool]
    result: Callable[[int], str] = str

    def run(self, value: int) -> str | None:
        if self.applies(value):
            return self.result(value)
        return None


def is_even(value: int) -> bool:
    return value % 2 == 0


def as_hex(value: int) -> str:
    return hex(value)


RULES = [Rule("even", is_even, as_hex), Rule("big", applies=lambda value: value > 100)]

for number in (3, 8, 101):
    print([rule.run(number) for rule in RULES])
