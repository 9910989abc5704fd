def celsius(value):
    return (value - 32) / 1.8


def miles(value):
    return value * 0.621


def is_hot(value):
    return value > 30


CONVERSIONS = [
    ("temperature", celsius),
    ("distance", miles),
]


def convert_all(value):
    results = {}
    for name, conversion in CONVERSIONS:
        results[name] = conversion(value)
    return results


rules = [(is_hot, "drink")]
for condition, advice in rules:
    if condition(35):
        print(advice)
print(convert_all(100))
