class Point:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def norm(self):
        from .distances import euclidean

        return euclidean(Point(0, 0), self)
