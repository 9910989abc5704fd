from contextlib import contextmanager


class Journal:
    def __init__(self):
        self.entries = []
        self.active = False

    @contextmanager
    def recording(self):
        self._activate(True)
        try:
            yield self
        finally:
            self._activate(False)

    def _activate(self, active):
        self.active = active

    def write(self, kind, text):
        if self.active:
            self.entries.append((kind, text))

    def __iter__(self):
        for number, (kind, text) in enumerate(self.entries, 1):
            yield layout(number, kind, text)


def layout(number, kind, text):
    return f"{number:>3} {kind:<8} {text}"
