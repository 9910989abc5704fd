def compose(outer, inner):
    def composed(value):
        return outer(inner(value))

    return composed


def double(x):
    return 2 * x


def negate(x):
    return -x


minus_twice = compose(negate, double)
print(minus_twice(4))
