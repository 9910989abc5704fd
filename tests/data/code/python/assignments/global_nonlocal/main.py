strategy = None


def greedy(amount):
    return amount // 2


def lazy(amount):
    return 1


def use(name):
    global strategy
    strategy = greedy if name == "greedy" else lazy


def take(amount):
    return strategy(amount)


def session():
    step = None

    def prepare():
        nonlocal step
        step = lazy

    prepare()
    return step(5)


use("greedy")
print(take(10))
use("lazy")
print(take(10))
print(session())
