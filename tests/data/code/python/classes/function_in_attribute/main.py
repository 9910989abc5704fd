class Thermostat:
    def __init__(self, on_change):
        self.on_change = on_change
        self.degrees = 20

    def set(self, degrees):
        old, self.degrees = self.degrees, degrees
        if old != degrees:
            self.on_change(old, degrees)


def print_change(old, new):
    print(f"{old} -> {new}")


def main():
    thermostat = Thermostat(print_change)
    thermostat.set(22)


main()
