__all__ = ["Square", "area"]


def area(width, height):
    return _check(width) * _check(height)


def _check(length):
    return abs(length)


class Square:
    def __init__(self, side):
        self.side = side

    def area(self):
        return area(self.side, self.side)
