"""A wire to a server that can be cut: forwards TCP connections while it is up."""

from __future__ import annotations

import contextlib
import socket
from dataclasses import dataclass, field
from threading import Thread


@dataclass(slots=True)
class Forwarder:
    """Listens on `listen` and connects each caller to `target`; `cut` ends everything."""

    listen: tuple[str, int]
    target: tuple[str, int]
    _server: socket.socket | None = None
    _open: list[socket.socket] = field(default_factory=list)

    def start(self) -> None:
        """Take callers from now on."""
        self._server = socket.create_server(self.listen, reuse_port=False)
        Thread(target=self._accept, args=(self._server,), daemon=True).start()

    def cut(self) -> None:
        """Hang up on everyone and take no more callers."""
        ends = [*self._open, *([self._server] if self._server else [])]
        self._server, self._open = None, []
        for end in ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _accept(self, server: socket.socket) -> None:
        while True:
            try:
                caller, _ = server.accept()
                callee = socket.create_connection(self.target, timeout=10)
            except OSError:
                return
            callee.settimeout(None)
            self._open += [caller, callee]
            for source, sink in ((caller, callee), (callee, caller)):
                Thread(target=_pump, args=(source, sink), daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
