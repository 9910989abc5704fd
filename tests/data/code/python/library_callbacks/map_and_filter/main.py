import re


def is_word(token):
    return token.isalpha()


def shout(match):
    return emphasize(match.group())


def emphasize(text):
    return f"*{text.upper()}*"


def words(text):
    return list(filter(is_word, text.split()))


def highlight(text, word):
    return re.sub(re.escape(word), shout, text)


print(words("give me 5 apples"))
print(list(map(emphasize, ["a", "b"])))
print(list(map(lambda number: number + 1, [1, 2])))
print(highlight("red fish blue fish", "fish"))
