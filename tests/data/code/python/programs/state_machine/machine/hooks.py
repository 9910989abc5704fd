def print_step(before, event, after):
    print(f"{before} --{event}--> {after}")


def ignore_step(before, event, after):
    pass


hooks = {"print": print_step, "ignore": ignore_step}


class History:
    def __init__(self):
        self._steps = []

    def record(self, *step):
        self._steps.append(step)

    def lines(self):
        for step in self._steps:
            yield self._format(*step)

    def _format(self, before, event, after):
        return f"{event}: {before}" if before == after else f"{event}: {before} -> {after}"


def count_visits(visits, matches):
    return sum(1 for visit in visits if matches(visit))
