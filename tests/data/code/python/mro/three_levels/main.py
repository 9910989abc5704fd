class Animal:
    def __init__(self, name):
        self.name = name
        self.register()

    def register(self):
        print("registered", self.name)

    def speak(self):
        return "..."


class Dog(Animal):
    def speak(self):
        return "Woof"


class Puppy(Dog):
    def __init__(self, name):
        super().__init__(name)
        self.age = 0

    def speak(self):
        return super().speak().lower() + self.wag()

    def wag(self):
        return "~"


puppy = Puppy("Rex")
print(puppy.speak())
