def make_adders(amounts):
    return [lambda x, amount=amount: x + amount for amount in amounts]


def power(exponent):
    return lambda base: base**exponent


square, cube = power(2), power(3)
add_one, add_ten = make_adders([1, 10])
print(square(3), cube(3))
print(add_one(1), add_ten(1))
twice = lambda function: lambda value: function(function(value))
print(twice(square)(3))
