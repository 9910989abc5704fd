from dataclasses import dataclass, field


def next_number(counter=[0]):
    counter[0] += 1
    return counter[0]


@dataclass(order=True)
class Ticket:
    seat: str
    number: int = field(default_factory=next_number)

    def __post_init__(self):
        self.seat = self.normalized(self.seat)

    @staticmethod
    def normalized(seat):
        return seat.upper()


def sell(*seats):
    return [Ticket(seat) for seat in seats]


print(sell("a1", "b2"))
