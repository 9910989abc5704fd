import threading


class Counter:
    def __init__(self):
        self.lock = threading.Lock()
        self.value = 0

    def add(self, amount):
        with self.lock:
            self.value += amount

    def add_many(self, amounts):
        for amount in amounts:
            self.add(amount)


def note(message):
    print(message)


def run():
    counter = Counter()
    threads = [threading.Thread(target=counter.add_many, args=([1, 2, 3],)) for _ in range(2)]
    threads.append(threading.Thread(target=note, args=("started",)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return counter.value


print(run())
