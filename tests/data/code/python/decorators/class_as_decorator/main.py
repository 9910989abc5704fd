class CountCalls:
    def __init__(self, function):
        self.function = function
        self.calls = 0

    def __call__(self, *args):
        self.calls += 1
        return self.function(*args)


@CountCalls
def cube(x):
    return x**3


def run():
    for number in range(3):
        cube(number)


run()
print(cube.calls)
