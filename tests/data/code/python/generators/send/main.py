def running_average(on_value):
    total, count, average = 0.0, 0, None
    while True:
        value = yield average
        on_value(value)
        total += value
        count += 1
        average = total / count


def note(value):
    print("got", value)


def start():
    averages = running_average(note)
    next(averages)
    return averages


averages = start()
print(averages.send(10))
print(averages.send(20))
