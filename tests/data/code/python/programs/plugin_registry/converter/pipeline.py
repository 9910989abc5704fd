from .registry import filters


class Pipeline:
    def __init__(self, steps):
        self.steps = steps

    @classmethod
    def from_names(cls, names):
        return cls([filters[name] for name in names])

    def __call__(self, text):
        return "\n".join(self._convert(line) for line in self._lines(text))

    def _lines(self, text):
        for line in text.splitlines():
            if line:
                yield line

    def _convert(self, line):
        for step in self.steps:
            line = step(line)
        return line
