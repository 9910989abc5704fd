class Literal:
    def __init__(self, value):
        self.value = value

    def accept(self, visitor):
        return visitor.visit_literal(self)


class Sum:
    def __init__(self, *terms):
        self.terms = terms

    def accept(self, visitor):
        return visitor.visit_sum(self)


class Evaluator:
    def visit_literal(self, literal):
        return literal.value

    def visit_sum(self, node):
        return sum(term.accept(self) for term in node.terms)


class Printer:
    def visit_literal(self, literal):
        return str(literal.value)

    def visit_sum(self, node):
        return self.join([term.accept(self) for term in node.terms])

    def join(self, texts):
        return "(" + " + ".join(texts) + ")"


expression = Sum(Literal(1), Sum(Literal(2), Literal(3)))
for visitor in Evaluator(), Printer():
    print(expression.accept(visitor))
