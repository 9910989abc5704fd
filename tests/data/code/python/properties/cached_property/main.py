from functools import cached_property


class Text:
    def __init__(self, words):
        self.words = words

    @cached_property
    def counts(self):
        counts = {}
        for word in self.words:
            self.count(counts, word)
        return counts

    def count(self, counts, word):
        counts[word] = counts.get(word, 0) + 1

    def top(self):
        return best(self.counts)


def best(counts):
    return max(counts, key=counts.get)


text = Text("to be or not to be or be".split())
print(text.top(), text.top(), text.counts)
