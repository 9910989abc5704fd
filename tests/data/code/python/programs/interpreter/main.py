"""A calculator with variables: each line is parsed to a tree, and the tree is evaluated."""

from calculator.environment import Environment
from calculator.errors import CalculatorError
from calculator.parser import Parser
from calculator.tokens import tokenize

LINES = [
    *("x = 2 + 3 * 4", "-x + 1", "max(x, 20) / 4", "twice(x)", "7", "x - 1"),
    *("-7", "- -twice(-(x - 1))", "-twice(1)", "twice(1 + 1)", "twice(twice(2))"),
    *("a = b = 1", "c = x", "d = -x", "e = twice(3)", "f = 3"),
    *("y", "(1 + 2", "2 +", "1 / 0", "$"),
]


class Session:
    def __init__(self):
        self.environment = Environment.standard()
        self.history = []

    def run(self, line):
        try:
            tree = Parser(tokenize(line)).parse()
            result = tree.evaluate(self.environment)
        except CalculatorError as error:
            result = error.explain()
        self.remember(line, result)
        return result

    def remember(self, line, result):
        self.history.append((line, result))


def main():
    session = Session()
    for line in LINES:
        print(line, "=>", session.run(line))


if __name__ == "__main__":
    main()
