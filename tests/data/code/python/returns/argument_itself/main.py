def identity(value):
    return value


def tagged(function, tag):
    function.tag = tag
    return function


def either(first, second, use_first):
    return first if use_first else second


def sing():
    return "la"


def hum():
    return "mm"


print(identity(sing)())
print(tagged(hum, "quiet")())
print(either(sing, hum, False)())
