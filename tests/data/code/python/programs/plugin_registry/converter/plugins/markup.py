import re

from converter.registry import filters


@filters.register("headings")
def headings(line):
    if line.startswith("# "):
        return tag("h1", line[2:])
    return line


@filters.register("bullets")
def bullets(line):
    return tag("li", line[2:]) if line.startswith("* ") else line


@filters.register("emphasis")
def emphasis(line):
    return re.sub(r"\*(\w+)\*", lambda match: tag("em", match[1]), line)


def tag(name, text):
    return f"<{name}>{text}</{name}>"
