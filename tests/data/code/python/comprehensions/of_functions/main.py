def area(side):
    return side**2


def volume(side):
    return side**3


def measures(side):
    return [measure(side) for measure in (area, volume)]


functions = {"area": area, "volume": volume}
print(measures(2))
print({name: function(3) for name, function in functions.items()})
doubled = [lambda side, f=f: 2 * f(side) for f in functions.values()]
print([function(1) for function in doubled])
