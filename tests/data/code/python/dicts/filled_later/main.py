handlers = {}


def on_open(path):
    return f"open {path}"


def on_close(path):
    return f"close {path}"


def install():
    handlers["open"] = on_open
    handlers.update(close=on_close)


def dispatch(event, path):
    handler = handlers[event]
    return handler(path)


install()
print(dispatch("open", "/tmp/a"))
print(dispatch("close", "/tmp/a"))
