"""A proxy that does to bytes what bad networks and sick peers do, and a listener that is deaf."""

import contextlib
import socket
import struct
import threading
from dataclasses import dataclass

import pytest

_ABORT = struct.pack("ii", 1, 0)
_MOST = 65536


@dataclass
class Flow:
    """How the bytes of one direction go on; set its members at any time.

    Attributes:
        delay: Seconds that each piece is held back.
        piece: Most bytes that go on at a time.
        left: Bytes that still go on before their connection is cut; None for no end, also after it.
    """

    delay: float = 0.0
    piece: int = _MOST
    left: int | None = None

    def make_slow(self):
        """Let one byte a second through."""
        self.delay, self.piece = 1.0, 1

    def heal(self):
        """Let everything through at once again."""
        self.delay, self.piece, self.left = 0.0, _MOST, None


class Proxy:
    """Listens on a port of its own and passes on to another one, both on loopback.

    Attributes:
        port: Where it listens.
        target: The port behind it; set it at any time.
        accepted: How many connections were made to it so far.
        up: What happens to bytes on their way to the target.
        down: What happens to bytes on their way back.
    """

    def __init__(self, target):
        self.target = target
        self.up = Flow()
        self.down = Flow()
        self.accepted = 0
        self._lock = threading.Lock()
        self._links = set()
        self._closed = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, name="proxy-accept", daemon=True).start()

    @property
    def connections(self):
        """How many connections go through now."""
        with self._lock:
            return len(self._links)

    def drop(self):
        """End all connections in order, on both sides."""
        for link in self._taken():
            link.close()

    def reset(self):
        """Break all connections as a crashed machine does, on both sides."""
        for link in self._taken():
            link.abort()

    def half_close(self):
        """Tell the callers that nothing more comes; what they send still goes on."""
        for link in self._taken(keep=True):
            link.half_close()

    def close(self):
        """End everything."""
        self._closed.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.drop()

    def _taken(self, *, keep=False):
        with self._lock:
            links = list(self._links)
            if not keep:
                self._links.clear()
        # All at once: one that still goes on could bring an answer to the end of another.
        for link in links:
            link.mute()
        return links

    def _accept(self):
        while not self._closed.is_set():
            try:
                caller, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            threading.Thread(target=self._serve, args=(caller,), daemon=True).start()

    def _serve(self, caller):
        try:
            peer = socket.create_connection(("127.0.0.1", self.target), 10)
        except OSError:
            abort(caller)
            return
        link = Link(caller, peer)
        with self._lock:
            self._links.add(link)
        # Whoever closes the proxy does not see a link that is not among the others yet.
        if self._closed.is_set():
            link.close()
        back = threading.Thread(target=self._pump, args=(link, peer, caller, self.down))
        back.start()
        self._pump(link, caller, peer, self.up)
        back.join()
        with self._lock:
            self._links.discard(link)
        link.close()

    def _pump(self, link, source, sink, flow):
        try:
            while content := source.recv(_MOST):
                while content:
                    self._closed.wait(flow.delay)
                    piece, content = content[: flow.piece], content[flow.piece :]
                    if flow.left is not None:
                        piece, flow.left = piece[: flow.left], max(0, flow.left - len(piece))
                    link.pass_on(piece, sink)
                    if flow.left == 0:
                        flow.left = None
                        link.close()
            link.pass_end(sink)
        except OSError:
            link.close()


class Link:
    """A caller's connection and the one to the target."""

    def __init__(self, caller, peer):
        self.ends = (caller, peer)
        self._aborted = False
        self._mute = False
        for end in self.ends:
            end.settimeout(None)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self):
        for end in self.ends:
            # A thread that reads from it would keep a socket open that is only closed.
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def abort(self):
        self._aborted = True
        for end in self.ends:
            abort(end)

    def pass_end(self, sink):
        # Aborting wakes up the reading threads; they must not end in order what is to break.
        if not self._aborted:
            sink.shutdown(socket.SHUT_WR)

    def mute(self):
        self._mute = True

    def half_close(self):
        with contextlib.suppress(OSError):
            self.ends[0].shutdown(socket.SHUT_WR)

    def pass_on(self, piece, sink):
        if not (self._mute and sink is self.ends[0]):
            sink.sendall(piece)


def abort(end):
    """Send RST instead of FIN."""
    with contextlib.suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORT)
        # A thread that reads from it would keep a socket open that is only closed.
        end.shutdown(socket.SHUT_RD)
    end.close()


@contextlib.contextmanager
def deaf_listener():
    """Give a port that listens and never accepts: connecting to it takes for ever."""
    with contextlib.ExitStack() as held:
        listener = held.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        address = listener.getsockname()
        while not _is_full(listener):
            held.enter_context(socket.create_connection(address, 10))
        yield address[1]


def _is_full(listener):
    """Whether Linux answers nobody any more who connects to this listener."""
    info = listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 32)
    # Of a listener these two of `struct tcp_info` are the connections that wait, and their limit.
    waiting, limit = struct.unpack_from("II", info, 24)
    return waiting > limit


@pytest.fixture
def proxies():
    """Make proxies in front of ports; all are closed at the end."""
    with contextlib.ExitStack() as made:

        def make(target):
            proxy = Proxy(target)
            made.callback(proxy.close)
            return proxy

        yield make
