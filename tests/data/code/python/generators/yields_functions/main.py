def increment(x):
    return x + 1


def double(x):
    return x * 2


def steps():
    yield increment
    yield double


def apply_all(value):
    for step in steps():
        value = step(value)
    return value


generator = steps()
first = next(generator)
print(first(1))
print(apply_all(5))
