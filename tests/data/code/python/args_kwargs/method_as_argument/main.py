class Scale:
    def __init__(self, factor):
        self.factor = factor

    def apply(self, value):
        return value * self.factor

    @staticmethod
    def round_up(value):
        return -int(-value // 1)


def transform(values, *functions):
    for function in functions:
        values = [function(value) for value in values]
    return values


def main():
    scale = Scale(1.5)
    print(transform([1, 2], scale.apply, Scale.round_up))


if __name__ == "__main__":
    main()
