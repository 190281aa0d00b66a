"""A client that sends any bytes, and takes messages apart."""

import socket
import struct


def framed(kind, body=b""):
    return kind + struct.pack("!i", len(body) + 4) + body


def text(*words):
    return b"".join(word.encode() + b"\0" for word in words)


def startup(user="ana", database="clinic", **more):
    parts = [each for pair in {"user": user, "database": database, **more}.items() for each in pair]
    body = struct.pack("!i", 196608) + text(*parts) + b"\0"
    return struct.pack("!i", len(body) + 4) + body


def bound(portal, statement, *values):
    """Return a Bind with texts as values."""
    cells = b"".join(struct.pack("!i", len(each)) + each.encode() for each in values)
    return framed(
        b"B", text(portal, statement) + struct.pack("!hh", 0, len(values)) + cells + b"\0\0"
    )


class Raw:
    """One connection."""

    def __init__(
        self, server, *, token=None, name="ana", database="clinic", seconds=30, at="127.0.0.1"
    ):
        place = ("127.0.0.1", server.sql_port)
        self.socket = socket.create_connection(place, seconds, source_address=(at, 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.seen = b""
        if token is not None:
            self.send(startup(name, database))
            assert self.message() == (b"R", struct.pack("!i", 3))
            self.send(framed(b"p", text(token)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def take(self, size):
        found = b""
        while len(found) < size:
            more = self.socket.recv(size - len(found))
            if not more:
                raise EOFError
            found += more
        self.seen += found
        return found

    def message(self):
        """Return the next message; None if there is none any more."""
        try:
            kind = self.take(1)
            (length,) = struct.unpack("!i", self.take(4))
            return kind, self.take(length - 4)
        except (EOFError, ConnectionError):
            return None

    def until_ready(self):
        """Return all messages up to the next ReadyForQuery, or to the end."""
        found = []
        while (message := self.message()) is not None:
            found.append(message)
            if message[0] == b"Z":
                break
        return found

    def drained(self):
        """Read until the other end closes."""
        while self.message() is not None:
            pass


def errors_of(messages):
    """Return the SQLSTATEs of the errors among messages."""
    errors = [body for kind, body in messages if kind == b"E"]
    return [next(p[1:].decode() for p in body.split(b"\0") if p[:1] == b"C") for body in errors]
