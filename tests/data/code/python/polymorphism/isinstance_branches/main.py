class Number:
    def __init__(self, value):
        self.value = value

    def digits(self):
        return str(self.value)


class Word:
    def __init__(self, letters):
        self.letters = letters

    def spell(self):
        return "-".join(self.letters)


def speak(token):
    if isinstance(token, Number):
        return token.digits()
    if isinstance(token, (list, tuple)):
        return [speak(part) for part in token]
    match token:
        case Word():
            return token.spell()
        case _:
            return fallback(token)


def fallback(token):
    return repr(token)


print(speak([Number(12), Word("abc"), (None,)]))
