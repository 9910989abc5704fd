from abc import ABC, abstractmethod

from .errors import CalculatorError


def divide(left, right):
    if right == 0:
        raise CalculatorError("division by zero")
    return left / right


class Node(ABC):
    @abstractmethod
    def evaluate(self, environment):
        """The value of the node."""


class Number(Node):
    def __init__(self, value):
        self.value = value

    def evaluate(self, environment):
        return self.value


class Name(Node):
    def __init__(self, name):
        self.name = name

    def evaluate(self, environment):
        return environment.lookup(self.name)


class Assign(Node):
    def __init__(self, name, value):
        self.name, self.value = name, value

    def evaluate(self, environment):
        return environment.assign(self.name, self.value.evaluate(environment))


class Binary(Node):
    operations = {
        "+": lambda left, right: left + right,
        "-": lambda left, right: left - right,
        "*": lambda left, right: left * right,
        "/": divide,
    }

    def __init__(self, sign, left, right):
        self.operation = self.operations[sign]
        self.left, self.right = left, right

    def evaluate(self, environment):
        left, right = self.left.evaluate(environment), self.right.evaluate(environment)
        return self.operation(left, right)


class Negate(Node):
    def __init__(self, operand):
        self.operand = operand

    def evaluate(self, environment):
        return -self.operand.evaluate(environment)


class Call(Node):
    def __init__(self, name, arguments):
        self.name, self.arguments = name, arguments

    def evaluate(self, environment):
        function = environment.lookup(self.name)
        return function(*(argument.evaluate(environment) for argument in self.arguments))
