import geometry
from geometry import distance


def main():
    start = geometry.Point(0, 0)
    end = geometry.Point(3, 4)
    print(distance(start, end))
    print(geometry.origin().norm())


main()
