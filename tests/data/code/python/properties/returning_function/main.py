class Game:
    def __init__(self):
        self.level = 1

    @property
    def strategy(self):
        return self.easy if self.level < 3 else self.hard

    def easy(self, move):
        return f"easy {move}"

    def hard(self, move):
        return f"hard {move}"

    @property
    def title(self):
        return self.decorate(f"level {self.level}")

    @title.deleter
    def title(self):
        self.reset()

    @staticmethod
    def decorate(text):
        return f"* {text} *"

    def reset(self):
        self.level = 1

    def play(self, move):
        self.level += 1
        return self.strategy(move)


game = Game()
print(game.play("a"), game.play("b"), game.title)
del game.title
