class Lamp:
    def __init__(self):
        self.on = False

    def toggle(self):
        self.on = not self.on


def blink():
    return "blink"


def glow():
    return "glow"


effect = signal = blink
print(signal())
effect = glow
print(effect())
kitchen = hall = Lamp()
hall.toggle()
print(kitchen.on)
