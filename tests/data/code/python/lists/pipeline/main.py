def strip(text):
    return text.strip()


def lower(text):
    return text.lower()


def hyphenate(text):
    return "-".join(text.split())


STEPS = [strip, lower, hyphenate]


def slug(title):
    for step in STEPS:
        title = step(title)
    return title


print(slug("  Hello Big World "))
