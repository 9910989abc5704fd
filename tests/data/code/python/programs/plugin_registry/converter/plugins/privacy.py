import re

from ..registry import filters


class Mask:
    def __init__(self, pattern, sign="x"):
        self.pattern = re.compile(pattern)
        self.sign = sign

    def __call__(self, line):
        return self.pattern.sub(self._hide, line)

    def _hide(self, match):
        return self.sign * len(match[0])


filters["mask"] = Mask(r"\d+")
filters["shout"] = lambda line: line.upper()
