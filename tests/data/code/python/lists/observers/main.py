class Subject:
    def __init__(self):
        self._observers = []

    def attach(self, observer):
        self._observers.append(observer)

    def notify(self, message):
        for observer in self._observers:
            observer(message)


class Screen:
    def __init__(self):
        self.lines = []

    def show(self, message):
        self.lines.append(message)


def write_log(message):
    print("log:", message)


subject = Subject()
screen = Screen()
subject.attach(screen.show)
subject.attach(write_log)
subject.attach(lambda message: screen.show(message.upper()))
subject.notify("ready")
print(screen.lines)
