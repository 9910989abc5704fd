from functools import wraps


class TransitionError(Exception):
    def __init__(self, state, event):
        super().__init__(f"{event} is not possible in {state}")
        self.state = state
        self.event = event


class Transition:
    def __init__(self, source, target, action, guard=None):
        self.source = source
        self.target = target
        self.action = action
        self.guard = guard

    def allowed(self, *arguments):
        return self.guard is None or self.guard(*arguments)


def traced(method):
    @wraps(method)
    def wrapper(self, event, *arguments):
        before = self.state
        result = method(self, event, *arguments)
        for observer in self.observers:
            observer(before, event, self.state)
        return result

    return wrapper


class Machine:
    initial = "start"

    def __init__(self):
        self.state = self.initial
        self.observers = []
        self.transitions = {}
        self.configure()

    def configure(self):
        raise NotImplementedError

    def allow(self, event, source, target, action, guard=None):
        transition = Transition(source, target, action, guard)
        self.transitions.setdefault((source, event), []).append(transition)

    @traced
    def fire(self, event, *arguments):
        for transition in self.candidates(event):
            if transition.allowed(*arguments):
                self.leave(self.state)
                result = transition.action(*arguments)
                self.enter(transition.target)
                return result
        raise TransitionError(self.state, event)

    def candidates(self, event):
        yield from self.transitions.get((self.state, event), [])

    def enter(self, state):
        self.state = state
        handler = getattr(self, f"on_enter_{state}", None)
        if handler is not None:
            handler()

    def leave(self, state):
        pass
