import text.formatting as fmt
from text.measure import width as text_width
from text import measure as m


def banner(title):
    line = fmt.rule(text_width(title))
    return "\n".join([line, fmt.center(title, m.width(line)), line])


print(banner("News"))
shorten = m.shorten
print(shorten("a long title", 6))
