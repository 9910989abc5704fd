def page(**parts):
    text = parts["header"]()
    if "footer" in parts:
        text += parts["footer"]()
    return text


def fold(**functions):
    return [f"{name}={function()}" for name, function in functions.items()]


def title():
    return "Title\n"


def copyright_line():
    return "(c) 2024"


print(page(header=title))
print(page(header=title, footer=copyright_line))
options = {"end": copyright_line}
print(fold(**options))
