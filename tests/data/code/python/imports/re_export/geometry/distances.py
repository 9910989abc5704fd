import math


def euclidean(first, second):
    return math.hypot(first.x - second.x, first.y - second.y)
