def run_all(*tasks):
    return [task() for task in tasks]


def first(name, *tasks):
    print(name)
    return tasks[0]()


def sweep():
    return "swept"


def cook():
    return "cooked"


chores = [sweep, cook]
print(run_all(*chores))
print(first("today", cook))
