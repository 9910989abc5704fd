def monday():
    return "start"


def friday():
    return "finish"


def sunday():
    return "rest"


days = (monday, friday, sunday)
print(days[0]())
print(days[-1]())
first, *others = days
print(first())
