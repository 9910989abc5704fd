def clean(word):
    return word.strip(".,").lower()


def size(word):
    return len(word)


def vowels(word):
    return {letter for letter in word if is_vowel(letter)}


def is_vowel(letter):
    return letter in "aeiou"


def analyse(text):
    words = [clean(word) for word in text.split()]
    return {word: size(word) for word in words if vowels(word)}


print(analyse("Why, the sky is blue."))
print(sum(size(word) for word in ["a", "bc"]))
