def apply(function, value):
    return function(value)


def square(x):
    return x * x


def halve(x):
    return x / 2


print(apply(square, 3))
print(apply(halve, 3))
