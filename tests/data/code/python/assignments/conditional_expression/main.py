def quick(items):
    return sorted(items)


def careful(items):
    check(items)
    return sorted(items)


def check(items):
    assert all(isinstance(item, int) for item in items)


def sort(items, safe):
    method = careful if safe else quick
    return method(items)


def log(items, logger=None):
    logger = logger or print_items
    logger(items)


def print_items(items):
    print(items)


log(sort([2, 1], True))
log(sort([3, 2], False))
