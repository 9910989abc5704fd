import functools


class Menu:
    def __init__(self):
        self.entries = []

    def add(self, label, action):
        self.entries.append((label, action))

    def choose(self, index):
        label, action = self.entries[index]
        return f"{label}: {action()}"


def zoom(factor):
    return f"zoom {factor}"


def rotate(degrees, clockwise=True):
    return f"rotate {degrees} {clockwise}"


menu = Menu()
menu.add("Zoom in", functools.partial(zoom, 1.5))
menu.add("Turn left", functools.partial(rotate, 90, clockwise=False))
print(menu.choose(0))
print(menu.choose(1))
