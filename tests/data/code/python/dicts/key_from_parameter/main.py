class Robot:
    def __init__(self):
        self.x = 0
        self.moves = {"left": self.left, "right": self.right}

    def left(self):
        self.x -= 1

    def right(self):
        self.x += 1

    def move(self, direction):
        self.moves[direction]()

    def follow(self, path):
        for direction in path.split():
            self.move(direction)


robot = Robot()
robot.follow("left left right")
print(robot.x)
