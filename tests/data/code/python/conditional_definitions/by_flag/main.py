import os

VERBOSE = "QUIET_PLEASE" not in os.environ

if VERBOSE:

    def log(message):
        print(stamp(), message)
else:

    def log(message):
        pass


def stamp():
    return "now"


def work():
    log("working")


work()
