class JsonStore:
    def save(self, data):
        return f"json {data}"


class MemoryStore:
    def __init__(self):
        self.data = []

    def save(self, data):
        self.data.append(data)
        return "kept"


def store_class(name):
    return {"json": JsonStore, "memory": MemoryStore}[name]


def save(name, data):
    store = store_class(name)()
    return store.save(data)


print(save("json", 1))
print(save("memory", 2))
