class Circle:
    created = 0

    def __init__(self, radius):
        self.radius = radius
        Circle.count_one()

    @classmethod
    def count_one(cls):
        cls.created += 1

    @staticmethod
    def area_of(radius):
        return 3.14159 * radius**2

    def area(self):
        return Circle.area_of(self.radius)


first = Circle(1)
print(Circle.area(first))
print(first.area_of(3))
print(Circle.created)
