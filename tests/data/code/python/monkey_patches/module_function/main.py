import clock


def frozen():
    return "12:00"


def with_frozen_clock(action):
    original = clock.now
    clock.now = frozen
    try:
        return action()
    finally:
        clock.now = original


print(clock.describe())
print(with_frozen_clock(clock.describe))
