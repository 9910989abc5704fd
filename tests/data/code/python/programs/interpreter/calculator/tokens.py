import re
from dataclasses import dataclass

from .errors import ParseError

PATTERN = re.compile(r"\s*(?:(?P<number>\d+)|(?P<name>\w+)|(?P<sign>[-+*/=(),]))")


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    position: int

    def matches(self, *texts):
        return self.kind == "sign" and self.text in texts


def tokenize(line):
    position = 0
    while position < len(line):
        match = PATTERN.match(line, position)
        if match is None:
            raise ParseError("strange sign", position)
        yield Token(match.lastgroup, match[match.lastgroup], position)
        position = match.end()
    yield end_token(position)


def end_token(position):
    return Token("end", "", position)
