class Stop(Exception):
    def __init__(self):
        super().__init__("stopped")
        self.reason = default_reason()


class Skip(Stop):
    pass


def default_reason():
    return "no reason"


def handle(item):
    if item == "stop":
        raise Stop
    if item == "skip":
        raise Skip
    return item


def process(items):
    for item in items:
        try:
            print(handle(item))
        except Skip:
            skipped(item)
        except Stop as stop:
            print(stop.reason)
            return


def skipped(item):
    print("skipped", item)


process(["a", "skip", "b", "stop", "c"])
