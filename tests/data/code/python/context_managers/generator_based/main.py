from contextlib import contextmanager


@contextmanager
def opened(name):
    handle = acquire(name)
    try:
        yield handle
    finally:
        release(handle)


def acquire(name):
    return name.upper()


def release(handle):
    print("released", handle)


def work():
    with opened("valve") as handle:
        use(handle)


def use(handle):
    print("using", handle)


work()
