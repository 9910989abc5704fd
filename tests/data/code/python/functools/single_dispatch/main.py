from functools import singledispatch


@singledispatch
def describe(value):
    return f"something: {value}"


@describe.register
def describe_number(value: int):
    return f"number {value}"


@describe.register(list)
def describe_list(values):
    return ", ".join(describe(value) for value in values)


def show():
    print(describe(3.5))
    print(describe([1, 2]))


show()
