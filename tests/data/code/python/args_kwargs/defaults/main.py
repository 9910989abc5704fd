def by_length(word):
    return len(word)


def by_end(word):
    return word[-1]


def default_words():
    return ("pear", "fig")


def longest(words=default_words(), key=by_length):
    best = None
    for word in words:
        if best is None or key(word) > key(best):
            best = word
    return best


print(longest())
print(longest(["ab", "cz"], key=by_end))
