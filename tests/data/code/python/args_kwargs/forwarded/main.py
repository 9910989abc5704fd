def retry(function, *args, **kwargs):
    for _ in range(3):
        try:
            return call(function, *args, **kwargs)
        except OSError:
            wait()
    return None


def call(function, *args, **kwargs):
    return function(*args, **kwargs)


def wait():
    print("waiting")


attempts = []


def download(name, *, transform):
    attempts.append(name)
    if len(attempts) < 2:
        raise OSError(name)
    return transform(name)


def upper(text):
    return text.upper()


print(retry(download, "file", transform=upper))
