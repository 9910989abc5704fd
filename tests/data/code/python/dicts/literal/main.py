def add(a, b):
    return a + b


def subtract(a, b):
    return a - b


OPERATIONS = {
    "+": add,
    "-": subtract,
    "square": lambda a, b: a * a,
}

print(OPERATIONS["+"](1, 2))
print(OPERATIONS["square"](4, 0))
