class StorageError(Exception):
    @classmethod
    def about(cls, key):
        return cls(f"cannot read {key!r}")


def read(storage, key):
    try:
        return storage[key]
    except KeyError as error:
        raise StorageError.about(key) from error


def read_or(storage, key, fallback):
    try:
        return read(storage, key)
    except StorageError:
        return fallback(key)


def empty(key):
    return ""


print(read_or({"a": "1"}, "a", empty), read_or({}, "b", empty))
