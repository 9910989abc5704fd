class Fibonacci:
    def __init__(self, limit):
        self.limit = limit

    def __iter__(self):
        return FibonacciIterator(self.limit)


class FibonacciIterator:
    def __init__(self, limit):
        self.limit = limit
        self.pair = 0, 1

    def __iter__(self):
        return self

    def __next__(self):
        value = self.pair[0]
        if value > self.limit:
            raise StopIteration
        self.advance()
        return value

    def advance(self):
        self.pair = self.pair[1], sum(self.pair)


def show():
    for number in Fibonacci(20):
        print(number)


show()
