class Base:
    def setup(self):
        self.steps = ["base"]


class Left(Base):
    def setup(self):
        super().setup()
        self.steps.append("left")


class Right(Base):
    def setup(self):
        super().setup()
        self.steps.append("right")


class Bottom(Left, Right):
    def setup(self):
        super().setup()
        self.steps.append("bottom")


bottom = Bottom()
bottom.setup()
print(bottom.steps)
