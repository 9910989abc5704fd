class Greeter:
    def greet(self, name):
        return f"Hello {name}"

    def welcome(self, name):
        return self.greet(name) + "!"


def greet_in_french(self, name):
    return f"Bonjour {name}"


greeter = Greeter()
print(greeter.welcome("Zoe"))
Greeter.greet = greet_in_french
print(greeter.welcome("Zoe"))
