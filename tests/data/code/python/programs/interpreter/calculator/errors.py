class CalculatorError(Exception):
    def explain(self):
        return f"error: {self}"


class ParseError(CalculatorError):
    def __init__(self, text, position):
        super().__init__(f"{text} at {position}")
        self.position = position


class NameMissing(CalculatorError):
    def explain(self):
        return f"unknown name {self}"
