"""Where the parts listen: a network namespace of their own, or this machine's own address.

The API server refuses to proxy to a loopback address, so the parts need another one. With the
right to make a network namespace (root), the calling thread moves into a fresh one that holds
nothing but the loopback device with 127.0.0.1 and 10.99.0.1; every process and thread it starts
from then on is in there too. Without that right the machine's first ordinary address serves.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager

ADDRESS = "10.99.0.1"
_NEWNET = 0x40000000
_SIOCSIFADDR, _SIOCSIFNETMASK, _SIOCGIFFLAGS, _SIOCSIFFLAGS = 0x8916, 0x891C, 0x8913, 0x8914
_UP = 1
_FIRST_PORT, _LAST_PORT = 20_000, 32_000  # below the range the kernel gives to outgoing calls


class Network:
    """One address and the ports on it that nobody was given yet."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._next = _FIRST_PORT + os.getpid() % 64 * 100

    def port(self) -> int:
        """A port that is free on this address and on loopback, handed out once.

        Raises:
            RuntimeError: if there is none left.
        """
        while self._next < _LAST_PORT:
            self._next += 1
            if all(_free(host, self._next) for host in (self.address, "127.0.0.1")):
                return self._next
        raise RuntimeError("no free port is left for the rig")


@contextmanager
def own_network() -> Iterator[Network]:
    """A network of the caller's own; the calling thread is back where it was afterwards.

    Raises:
        RuntimeError: if there is neither the right to make one nor another address.
    """
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        try:
            _call("unshare", _NEWNET)
        except PermissionError:
            yield Network(_machine_address())
            return
        try:
            _raise_loopback()
            yield Network(ADDRESS)
        finally:
            _call("setns", before, _NEWNET)
    finally:
        os.close(before)


def _call(name: str, *arguments: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _raise_loopback() -> None:
    """Bring `lo` up and give it the second address; needs no program of the system."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        _set_flags(sock, "lo")
        _set_address(sock, "lo:rig", _SIOCSIFADDR, ADDRESS)
        _set_address(sock, "lo:rig", _SIOCSIFNETMASK, "255.255.255.0")


def _set_flags(sock: socket.socket, name: str) -> None:
    request = struct.pack("16sH22x", name.encode(), 0)
    flags = struct.unpack_from("H", fcntl.ioctl(sock, _SIOCGIFFLAGS, request), 16)[0]
    fcntl.ioctl(sock, _SIOCSIFFLAGS, struct.pack("16sH22x", name.encode(), flags | _UP))


def _set_address(sock: socket.socket, name: str, request: int, address: str) -> None:
    packed = struct.pack("16sHH4s16x", name.encode(), socket.AF_INET, 0, socket.inet_aton(address))
    fcntl.ioctl(sock, request, packed)


def _machine_address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect(("198.51.100.1", 9))  # sends nothing, only chooses the way out
        except OSError as error:
            raise RuntimeError(
                "the rig needs the right to make a network namespace (root), or an address "
                "besides loopback: the API server refuses to proxy to loopback"
            ) from error
        return str(sock.getsockname()[0])


def _free(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host, port))
        except OSError:
            return False
        return True
