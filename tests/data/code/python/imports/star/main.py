from shapes import *

print(area(2, 3))
print(Square(4).area())
