from . import tree
from .errors import ParseError


class Parser:
    """Recursive descent: sum, product, unary, atom."""

    def __init__(self, tokens):
        self.tokens = list(tokens)
        self.index = 0

    @property
    def current(self):
        return self.tokens[self.index]

    def parse(self):
        node = self.assignment()
        self.expect("")
        return node

    def assignment(self):
        left = self.sum()
        if self.accept("=") and isinstance(left, tree.Name):
            return tree.Assign(left.name, self.assignment())
        return left

    def sum(self):
        return self._binary(self.product, "+", "-")

    def product(self):
        return self._binary(self.unary, "*", "/")

    def _binary(self, operand, *signs):
        left = operand()
        while self.current.matches(*signs):
            sign = self.advance().text
            left = tree.Binary(sign, left, operand())
        return left

    def unary(self):
        if self.accept("-"):
            return tree.Negate(self.unary())
        return self.atom()

    def atom(self):
        token = self.advance()
        if token.kind == "number":
            return tree.Number(int(token.text))
        if token.kind == "name":
            if self.accept("("):
                return tree.Call(token.text, self.arguments())
            return tree.Name(token.text)
        if token.matches("("):
            inside = self.sum()
            self.expect(")")
            return inside
        raise ParseError(f"unexpected {token.text!r}", token.position)

    def arguments(self):
        arguments = [self.sum()]
        while self.accept(","):
            arguments.append(self.sum())
        self.expect(")")
        return arguments

    def advance(self):
        token = self.current
        self.index += 1
        return token

    def accept(self, text):
        if self.current.matches(text):
            return self.advance()
        return None

    def expect(self, text):
        if self.current.text != text:
            raise ParseError(f"expected {text or 'the end'}", self.current.position)
        self.index += 1
