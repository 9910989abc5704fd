from abc import ABC, abstractmethod


class Storage(ABC):
    @abstractmethod
    def read(self, name):
        ...

    @abstractmethod
    def exists(self, name):
        ...

    def read_or_empty(self, name):
        return self.read(name) if self.exists(name) else ""


class DictStorage(Storage):
    def __init__(self, **texts):
        self.texts = texts

    def read(self, name):
        return self.texts[name]

    def exists(self, name):
        return name in self.texts


class EchoStorage(Storage):
    def read(self, name):
        return name

    def exists(self, name):
        return True


for storage in [DictStorage(a="text of a"), EchoStorage()]:
    print(storage.read_or_empty("a"), storage.read_or_empty("b"))
