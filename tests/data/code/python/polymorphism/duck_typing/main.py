class Duck:
    def quack(self):
        return "Quack"

    def swim(self):
        return "paddles"


class Person:
    def quack(self):
        return self.imitate("quack")

    def imitate(self, sound):
        return f"says {sound}"


def listen(thing):
    return thing.quack()


def watch(thing):
    if hasattr(thing, "swim"):
        return thing.swim()
    return "stands still"


for thing in (Duck(), Person()):
    print(listen(thing), watch(thing))
