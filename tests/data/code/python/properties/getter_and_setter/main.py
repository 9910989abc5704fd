class Rectangle:
    def __init__(self, width, height):
        self._width = positive(width)
        self._height = positive(height)

    @property
    def area(self):
        return self._multiply()

    @property
    def width(self):
        return self._width

    @width.setter
    def width(self, value):
        self._width = positive(value)

    def _multiply(self):
        return self._width * self._height


def positive(value):
    if value <= 0:
        raise ValueError(value)
    return value


rectangle = Rectangle(2, 3)
rectangle.width = 5
print(rectangle.area, rectangle.width)
