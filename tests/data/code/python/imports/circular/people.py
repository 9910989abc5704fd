import departments


class Person:
    def __init__(self, name, department=None):
        self.name = name
        self.department = department or departments.Department("nowhere")

    def card(self):
        return f"{self.name}, {self.department.title()}"
