def plain(text):
    return text


speaker = plain
