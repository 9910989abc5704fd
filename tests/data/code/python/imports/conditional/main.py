try:
    from fast_json_that_is_missing import encode
except ImportError:
    from slow import encode

try:
    import slow as backend
except ImportError:
    backend = None


def dump(value):
    return encode(value)


print(dump(["a", 1]))
if backend is not None:
    print(backend.quote("x"))
