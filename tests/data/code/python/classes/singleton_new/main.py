class Settings:
    _only = None

    def __new__(cls):
        if cls._only is None:
            cls._only = super().__new__(cls)
            cls._only.load()
        return cls._only

    def load(self):
        self.values = {"debug": False}

    def get(self, name):
        return self.values[name]


def debugging():
    return Settings().get("debug")


print(debugging(), Settings() is Settings())
