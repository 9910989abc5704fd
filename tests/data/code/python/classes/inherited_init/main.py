class Vehicle:
    def __init__(self, wheels):
        self.wheels = wheels

    def describe(self):
        return f"{self.kind()} with {self.wheels} wheels"

    def kind(self):
        return "vehicle"


class Bicycle(Vehicle):
    def kind(self):
        return "bicycle"


class Bell:
    volume = 3


def show():
    bike = Bicycle(2)
    print(bike.describe())
    bell = Bell()
    print(bell.volume)


show()
