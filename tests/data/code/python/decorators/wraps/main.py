import functools
import time


def timed(function):
    @functools.wraps(function)
    def measure(*args, **kwargs):
        start = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            report(function.__name__, time.perf_counter() - start)

    return measure


def report(name, seconds):
    print(f"{name} took {seconds >= 0}")


@timed
def total(numbers):
    return add_up(numbers)


def add_up(numbers):
    return sum(numbers)


print(total([1, 2, 3]))
