class Temperature:
    def __init__(self, celsius):
        self.celsius = celsius

    @classmethod
    def from_fahrenheit(cls, degrees):
        return cls((degrees - 32) / 1.8)

    @classmethod
    def parse(cls, text):
        number, unit = float(text[:-1]), text[-1]
        if unit == "F":
            return cls.from_fahrenheit(number)
        return cls(number)

    def warmer(self, by):
        return type(self)(self.celsius + by)


def reading(text):
    return Temperature.parse(text)


print(reading("50F").warmer(2).celsius)
print(reading("12C").celsius)
