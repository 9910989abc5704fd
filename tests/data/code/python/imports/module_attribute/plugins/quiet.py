def speak(text):
    return text.lower()
