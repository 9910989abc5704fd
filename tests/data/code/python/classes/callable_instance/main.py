class Polynomial:
    def __init__(self, *coefficients):
        self.coefficients = coefficients

    def __call__(self, x):
        result = 0
        for coefficient in self.coefficients:
            result = result * x + coefficient
        return result


def tabulate(function, values):
    for value in values:
        print(value, function(value))


square_plus_one = Polynomial(1, 0, 1)
print(square_plus_one(3))
tabulate(square_plus_one, range(4))
