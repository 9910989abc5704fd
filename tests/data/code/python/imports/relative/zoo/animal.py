from .helpers import capitalize


class Animal:
    def __init__(self, name):
        self.name = capitalize(name)

    def speak(self, words):
        return f"{self.name}: {words}"
