class Shape:
    def __init__(self, name):
        self.name = name

    def draw(self):
        return f"shape {self.name}"


class Square(Shape):
    def __init__(self, side):
        Shape.__init__(self, "square")
        self.side = side

    def draw(self):
        return Shape.draw(self) + f" of side {self.side}"


def render(side):
    return Square(side).draw()


print(render(4))
