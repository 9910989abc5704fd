def ping():
    return "ping"


def pong():
    return "pong"


def play(rounds):
    current, other = ping, pong
    for _ in range(rounds):
        print(current())
        current, other = other, current


def once():
    first, second = ping, pong
    first, second = second, first
    return first()


play(3)
once()
