def countdown(start):
    while start > 0:
        yield start
        start -= 1


def launch():
    for number in countdown(3):
        print(number)


launch()
