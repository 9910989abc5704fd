import re


def parse_number(text):
    return int(text)


def parse_word(text):
    return text


def parser_for(text):
    if re.fullmatch(r"\d+", text):
        return parse_number
    if text.isalpha():
        return parse_word
    return None


def parse(text):
    if (parser := parser_for(text)) is not None:
        return parser(text)
    return None


print([parse(text) for text in ["12", "ab", "?"]])
print((shout := str.upper)("a"), (again := parse)("7"))
