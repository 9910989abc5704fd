def left():
    return "left"


def right():
    return "right"


def middle():
    return "middle"


a, b = left, right
(first, second), third = (middle, right), left
print(a())
print(second())
[c, *rest] = [middle, left]
print(c())
print(rest[0]())
