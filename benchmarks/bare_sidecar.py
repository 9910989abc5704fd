"""Python side of the bare calls: a plain Py4J server.

Prints its port and runs until its standard input ends, so it never outlives its parent process.
"""

import socket
import sys

from py4j.clientserver import ClientServer, JavaParameters, PythonParameters
from py4j.java_gateway import JavaObject


class Endpoint:
    """Entry point for calls from Java."""

    def call(self, name: str, payload: str, caller: JavaObject) -> str:
        if name == "echo":
            return payload
        return caller.run(payload)

    class Java:
        implements = ("io.sidecypher.bench.Bare$Endpoint",)


def main() -> None:
    server = ClientServer(
        java_parameters=JavaParameters(auto_convert=False, enable_memory_management=False),
        python_parameters=PythonParameters(port=0, daemonize=True, daemonize_connections=True),
        python_server_entry_point=Endpoint(),
    )
    listener = server.get_callback_server().server_socket
    # Accepted sockets inherit it; without it each answer above 8 KiB takes 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    print(listener.getsockname()[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
