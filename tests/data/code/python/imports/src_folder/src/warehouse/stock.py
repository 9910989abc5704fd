_items = {}


def add(name, count):
    _items[name] = _items.get(name, 0) + count


def everything():
    return sorted(_items.items())
