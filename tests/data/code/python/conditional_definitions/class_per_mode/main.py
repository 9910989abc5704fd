def storage_for(mode):
    if mode == "memory":

        class Storage:
            def __init__(self):
                self.values = {}

            def put(self, key, value):
                self.values[key] = value
    else:

        class Storage:
            def put(self, key, value):
                show(key, value)

    return Storage()


def show(key, value):
    print(key, value)


for mode in ("memory", "console"):
    storage = storage_for(mode)
    storage.put("a", 1)
