from collections import defaultdict


class EventBus:
    def __init__(self, journal):
        self._subscribers = defaultdict(list)
        self.journal = journal
        self.failures = 0

    def subscribe(self, kind, callback):
        self._subscribers[kind].append(callback)
        return lambda: self._subscribers[kind].remove(callback)

    def on(self, kind):
        def decorate(callback):
            self.subscribe(kind, callback)
            return callback

        return decorate

    def publish(self, event):
        self.journal.write("event", event.describe())
        for callback in self._subscribers[type(event)]:
            self._deliver(callback, event)

    def _deliver(self, callback, event):
        try:
            callback(event)
        except Exception as error:
            self._failed(error)

    def _failed(self, error):
        self.failures += 1
        self.journal.write("failure", str(error))
