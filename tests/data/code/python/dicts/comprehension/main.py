def minimum(values):
    return min(values)


def maximum(values):
    return max(values)


def mean(values):
    return sum(values) / len(values)


STATISTICS = {function.__name__: function for function in (minimum, maximum, mean)}


def summarize(values):
    return {name: function(values) for name, function in STATISTICS.items()}


print(summarize([3, 1, 2]))
print(STATISTICS["mean"]([4, 6]))
