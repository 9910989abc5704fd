class Csv:
    suffix = ".csv"

    def __init__(self, path):
        self.path = path

    def load(self):
        return f"rows of {self.path}"


class Ini:
    suffix = ".ini"

    def __init__(self, path):
        self.path = path

    def load(self):
        return f"sections of {self.path}"


LOADERS = [Csv, Ini]


def load(path):
    for loader in LOADERS:
        if path.endswith(loader.suffix):
            return loader(path).load()
    return None


for path in ["a.csv", "b.ini", "c.txt"]:
    print(load(path))
