class Connection:
    def __init__(self, host):
        self.host = host

    def send(self, text):
        return f"{self.host}: {text}"


def connect(host):
    connection = Connection(host)
    return connection


def ping(host):
    return connect(host).send("ping")


print(ping("localhost"))
