def render(items):
    return "\n".join(_line(*item) for item in items)


def _line(name, count):
    return f"{name:<10}{count:>5}"
