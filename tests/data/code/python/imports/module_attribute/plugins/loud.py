def speak(text):
    return exclaim(text.upper())


def exclaim(text):
    return text + "!"
