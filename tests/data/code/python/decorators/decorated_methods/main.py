import functools


def logged(method):
    @functools.wraps(method)
    def wrapper(self, *args):
        self.log(method.__name__)
        return method(self, *args)

    return wrapper


class Inventory:
    def __init__(self):
        self.items = {}
        self.entries = []

    def log(self, entry):
        self.entries.append(entry)

    @logged
    def add(self, item, count):
        self.items[item] = self.count(item) + count

    @logged
    def count(self, item):
        return self.items.get(item, 0)


inventory = Inventory()
inventory.add("nail", 100)
print(inventory.count("nail"), inventory.entries)
