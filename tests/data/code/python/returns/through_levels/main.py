def level_one():
    return level_two()


def level_two():
    return level_three


def level_three():
    return answer


def answer():
    return 42


print(level_one()()())
