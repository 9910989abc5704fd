def encode(value):
    if isinstance(value, list):
        return "[" + ",".join(encode(item) for item in value) + "]"
    return quote(value)


def quote(value):
    return f'"{value}"'
