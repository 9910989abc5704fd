import people


class Department:
    def __init__(self, name):
        self.name = name
        self.staff = []

    def hire(self, name):
        self.staff.append(people.Person(name, self))

    def title(self):
        return self.name.title()
