import time


def now():
    return time.strftime("%H:%M")


def describe():
    return f"It is {now()}"
