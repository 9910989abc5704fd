def capitalize(text):
    return text[:1].upper() + text[1:]


def repeat(text, times):
    return " ".join([text] * times)
