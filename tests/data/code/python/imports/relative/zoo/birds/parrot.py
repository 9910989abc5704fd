from .. import helpers
from ..animal import Animal
from . import feathers


class Parrot(Animal):
    def speak(self, words):
        return super().speak(helpers.repeat(words, 2)) + feathers.ruffle()
