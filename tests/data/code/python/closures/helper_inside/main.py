def word_statistics(text):
    def words():
        return text.split()

    def longest():
        return max(words(), key=len)

    def average():
        found = words()
        return sum(map(len, found)) / len(found)

    return longest(), average()


print(word_statistics("the quick brown fox"))
