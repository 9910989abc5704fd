def width(text):
    return len(text) + 4


def shorten(text, limit):
    return text if width(text) <= limit else text[:limit]
