"""Ports on the loopback address: can we listen on one, and which are free."""

from __future__ import annotations

import socket

LOOPBACK = "127.0.0.1"


def why_unusable(port: int) -> str:
    """Say what keeps us from listening on a port; nothing if we can."""
    with socket.socket() as caller:
        # On some systems we could bind beside a process that listens on all addresses.
        if caller.connect_ex((LOOPBACK, port)) == 0:
            return "another process listens there"
    with socket.socket() as listener:
        # Connections that have just ended must not count as a listener.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, port))
        except OSError as failure:
            return (failure.strerror or str(failure)).lower()
    return ""


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on right now, all different."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind((LOOPBACK, 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
