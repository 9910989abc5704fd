from .distances import euclidean as distance
from .points import Point

__all__ = ["Point", "distance", "origin"]


def origin():
    return Point(0, 0)
