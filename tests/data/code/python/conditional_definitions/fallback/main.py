try:
    from statistics import no_such_function as spread
except ImportError:

    def spread(values):
        return top(values) - bottom(values)


def top(values):
    return max(values)


def bottom(values):
    return min(values)


try:
    import json
except ImportError:
    json = None

if json is None:

    def save(value):
        return repr(value)
else:

    def save(value):
        return json.dumps(value)


print(save(spread([3, 9, 4])))
