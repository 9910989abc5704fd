from dataclasses import dataclass


class Event:
    def describe(self):
        return type(self).__name__ + self.details()

    def details(self):
        return ""


@dataclass
class DoorOpened(Event):
    door: str

    def details(self):
        return f" ({self.door})"


@dataclass
class TemperatureChanged(Event):
    degrees: float

    def details(self):
        return f" ({self.degrees:.1f})"


class NightFell(Event):
    pass
