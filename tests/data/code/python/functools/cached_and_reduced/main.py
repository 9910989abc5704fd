from functools import lru_cache, reduce


@lru_cache(maxsize=None)
def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


def multiply(a, b):
    return a * b


def product(numbers):
    return reduce(multiply, numbers, 1)


print(fibonacci(10))
print(product([2, 3, 4]))
print(reduce(lambda text, word: text + word[0], ["as", "far"], ""))
