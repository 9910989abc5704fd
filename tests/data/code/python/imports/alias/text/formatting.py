def rule(width):
    return "=" * width


def center(text, width):
    return text.center(width)
