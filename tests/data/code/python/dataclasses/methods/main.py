from dataclasses import dataclass, field


@dataclass
class Line:
    product: str
    price: float
    count: int = 1

    def total(self):
        return self.price * self.count


@dataclass
class Invoice:
    lines: list = field(default_factory=list)

    def add(self, line):
        self.lines.append(line)
        return self

    def total(self):
        return sum(line.total() for line in self.lines)


invoice = Invoice().add(Line("pen", 1.5, 4)).add(Line("ink", 3.0))
print(invoice.total())
