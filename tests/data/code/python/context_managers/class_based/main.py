class Transaction:
    def __init__(self, store):
        self.store = store

    def __enter__(self):
        self.backup = dict(self.store)
        return self

    def __exit__(self, kind, error, traceback):
        if kind is None:
            self.commit()
        else:
            self.rollback()
        return True

    def commit(self):
        print("committed")

    def rollback(self):
        self.store.clear()
        self.store.update(self.backup)


def change(store, key, value):
    with Transaction(store):
        store[key] = 10 / value


prices = {}
change(prices, "tea", 5)
change(prices, "air", 0)
print(prices)
