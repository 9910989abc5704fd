from contextlib import ExitStack, closing


class Lock:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.unlock()

    def unlock(self):
        print("unlocked")


class Socket:
    def send(self, data):
        return len(data)

    def close(self):
        print("closed")


def goodbye(name):
    print("bye", name)


def visit():
    with ExitStack() as stack:
        stack.enter_context(Lock())
        stack.callback(goodbye, "Ann")
        socket = stack.enter_context(closing(Socket()))
        return socket.send(b"data")


visit()
