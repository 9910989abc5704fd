from functools import partial


def price(amount, rate, currency):
    return f"{rounded(amount * (1 + rate))} {currency}"


def rounded(number):
    return round(number, 2)


with_tax = partial(price, rate=0.2)
in_euro = partial(with_tax, currency="EUR")
print(in_euro(10))
print(partial(rounded, 1.234)())
