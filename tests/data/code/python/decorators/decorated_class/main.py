REGISTERED = []


def with_repr(cls):
    def describe(self):
        return f"{cls.__name__}({', '.join(values(self))})"

    cls.describe = describe
    return cls


def values(instance):
    return [str(value) for value in vars(instance).values()]


def registered(cls):
    REGISTERED.append(cls)
    return cls


@registered
@with_repr
class Planet:
    def __init__(self, name, moons):
        self.name = name
        self.moons = moons


print(Planet("Mars", 2).describe())
print(REGISTERED[0]("Venus", 0).name)
