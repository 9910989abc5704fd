"""An editor that debugs: a client of the Debug Adapter Protocol."""

import itertools
import json
import socket


class Editor:
    """Is connected to a debugger until its block ends."""

    def __init__(self, port):
        self._socket = socket.create_connection(("127.0.0.1", port), 60)
        self._file = self._socket.makefile("rb")
        self._numbers = itertools.count(1)
        self._unread = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.request("disconnect")
        self._file.close()
        self._socket.close()

    def send(self, command, **arguments):
        """Send a request; return its number."""
        number = next(self._numbers)
        message = {"seq": number, "type": "request", "command": command, "arguments": arguments}
        content = json.dumps(message).encode()
        self._socket.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(content), content))
        return number

    def request(self, command, **arguments):
        """Send a request; return the body of its response."""
        return self.response(self.send(command, **arguments))

    def response(self, number):
        """Wait for the response to a request; return its body."""
        found = self._next(lambda each: each.get("request_seq") == number)
        assert found["success"], found
        return found.get("body")

    def event(self, name):
        """Wait for an event; return its body."""
        return self._next(lambda each: each.get("event") == name).get("body")

    def _next(self, fits):
        for message in self._unread:
            if fits(message):
                self._unread.remove(message)
                return message
        while not fits(message := self._read()):
            self._unread.append(message)
        return message

    def _read(self):
        length = 0
        while line := self._file.readline().strip():
            name, _, value = line.partition(b": ")
            if name == b"Content-Length":
                length = int(value)
        assert length, "the debugger has closed the connection"
        return json.loads(self._file.read(length))

    def attach(self, breakpoints):
        """Attach, and stop at lines by file."""
        self.request("initialize", adapterID="debugpy", pathFormat="path")
        attached = self.send("attach", justMyCode=True)
        self.event("initialized")
        for file, lines in breakpoints.items():
            found = self.request(
                "setBreakpoints",
                source={"path": str(file)},
                breakpoints=[{"line": line} for line in lines],
            )
            assert all(each["verified"] for each in found["breakpoints"]), found
        self.request("configurationDone")
        self.response(attached)

    def stopped(self):
        """Wait until a thread stands at a breakpoint; return its id and its variables."""
        thread = self.event("stopped")["threadId"]
        [frame, *_] = self.request("stackTrace", threadId=thread)["stackFrames"]
        [scope, *_] = self.request("scopes", frameId=frame["id"])["scopes"]
        reference = scope["variablesReference"]
        variables = self.request("variables", variablesReference=reference)["variables"]
        return thread, {each["name"]: each["value"] for each in variables}
