def polite(name):
    return f"Dear {name}"


def casual(name):
    return f"Hi {name}"


def greeting(formal):
    if formal:
        return polite
    return casual


greet = greeting(True)
print(greet("Sir"))
print(greeting(False)("Bo"))
