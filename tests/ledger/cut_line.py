"""A line to a server that can be cut at the very moment of a commit."""

from __future__ import annotations

import contextlib
import socket
import threading

COMMIT = b"Q\x00\x00\x00\x0bCOMMIT\x00"


class CutLine:
    """Passes everything on between clients and a port, until told to cut at the next commit.

    ``cut`` is None, or "before": the commit never reaches the server, or "after": it does, and the
    server's answer never reaches the client.
    """

    def __init__(self, port: int):
        self.cut: str | None = None
        self._target = ("127.0.0.1", port)
        self._door = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = [self._door]
        self.port = self._door.getsockname()[1]
        self._start(self._welcome)

    def _start(self, work, *arguments):
        threading.Thread(target=work, args=arguments, daemon=True).start()

    def _welcome(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._door.accept()
                server = socket.create_connection(self._target)
                self._open += [client, server]
                self._start(self._pass_on, client, server)
                self._start(self._pass_on, server, client)

    def _pass_on(self, source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                cut = self.cut  # once: whoever sees the line cut may set it back at once
                if cut and COMMIT in data:
                    source.shutdown(socket.SHUT_RDWR)
                    if cut == "before":
                        break
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for end in self._open:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
