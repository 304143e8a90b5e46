"""A small Iceberg REST catalog that can be told how to treat the next commits.

It keeps tables in an SQL catalog of PyIceberg's; only what lies between a client and its answer
is made up: answers that lie, get lost, or come when nobody waits for them any more.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote, urlparse

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import CreateTableRequest
from pyiceberg.exceptions import (
    CommitFailedException,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.table import CommitTableRequest, Table

STATUS = {
    CommitFailedException: 409,
    TableAlreadyExistsError: 409,
    NoSuchTableError: 404,
    NoSuchNamespaceError: 404,
}


class Fault(Enum):
    """What becomes of one commit request."""

    NONE = "answered truthfully"
    HOLD = "kept back until released, then treated as if it had just come"
    FAIL = "500, and nothing has landed"
    REFUSE = "409, and nothing has landed"
    LAND_THEN_FAIL = "500 although it has landed"
    LAND_THEN_REFUSE = "409 although it has landed"
    LAND_THEN_BUSY = "503 with Retry-After although it has landed"
    LAND_THEN_HANG_UP = "landed, and the connection is cut before the answer"

    @property
    def lands(self) -> bool:
        return self not in {Fault.FAIL, Fault.REFUSE}


@dataclass(frozen=True, slots=True)
class Seen:
    """A commit request that was dealt with, and whether the table took it."""

    table: str
    fault: Fault
    landed: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer; a status of 0 hangs up instead."""

    status: int
    body: dict[str, Any]
    headers: tuple[tuple[str, str], ...] = ()


class RestCatalogServer:
    """Serves a catalog on a free port; holds the faults to come and what has happened so far."""

    def __init__(self, catalog: Catalog, warehouse: str) -> None:
        self._catalog = catalog
        self._warehouse = warehouse
        self._faults: deque[Fault] = deque()
        self._released = threading.Event()
        self.holding = threading.Event()
        """Set while a request is kept back."""
        self.seen: list[Seen] = []
        self.connections: set[socket.socket] = set()
        self._server = self._listen(0)

    @property
    def properties(self) -> dict[str, str]:
        """What a client needs to open this catalog."""
        port = self._server.server_address[1]
        uri = f"http://127.0.0.1:{port}"
        return {"type": "rest", "uri": uri, "warehouse": self._warehouse}

    def treat_next(self, *faults: Fault) -> None:
        """Treat the next commit requests so, one after the other; later ones are answered well."""
        self._faults.extend(faults)

    def release(self) -> None:
        """Let a request go on that was kept back."""
        self._released.set()

    def stop(self) -> None:
        """Stop listening and hang up on every client; the port is kept in mind."""
        self.release()
        self._server.shutdown()
        self._server.server_close()
        for connection in tuple(self.connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def start_again(self) -> None:
        """Listen once more where clients expect it."""
        self._server = self._listen(int(self._server.server_address[1]))

    def answer(self, method: str, path: list[str], body: bytes) -> Answer:
        """Deal with one request."""
        try:
            return self._route(method, path, body)
        except tuple(STATUS) as refused:
            return _error(STATUS[type(refused)], refused)
        except Exception as failure:  # noqa: BLE001 - what a server does with its own faults
            return _error(500, failure)

    def _listen(self, port: int) -> ThreadingHTTPServer:
        server = ThreadingHTTPServer(
            ("127.0.0.1", port), type("OurHandler", (Handler,), {"catalog": self})
        )
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return server

    def _route(self, method: str, path: list[str], body: bytes) -> Answer:
        match method, path:
            case "GET", ["config"]:
                return Answer(200, {"defaults": {}, "overrides": {}})
            case "GET", ["namespaces"]:
                return Answer(200, {"namespaces": self._catalog.list_namespaces()})
            case "GET", ["namespaces", namespace, "tables"]:
                names = self._catalog.list_tables(_parts(namespace))
                listed = [{"namespace": name[:-1], "name": name[-1]} for name in names]
                return Answer(200, {"identifiers": listed})
            case "GET", ["namespaces", namespace, "tables", name]:
                return Answer(200, _shown(self._catalog.load_table((*_parts(namespace), name))))
            case "POST", ["namespaces", namespace, "tables"]:
                request = CreateTableRequest.model_validate_json(body)
                return Answer(200, _shown(self._create(_parts(namespace), request)))
            case "POST", ["namespaces", namespace, "tables", name]:
                return self._commit((*_parts(namespace), name), body)
            case _:
                return Answer(404, {"error": {"message": "no such page", "type": "", "code": 404}})

    def _create(self, namespace: tuple[str, ...], request: CreateTableRequest) -> Table:
        catalog: Any = self._catalog
        create = catalog._create_staged_table if request.stage_create else catalog.create_table
        made: Table = create(
            (*namespace, request.name),
            request.table_schema,
            request.location,
            request.partition_spec,
            request.write_order,
            request.properties,
        )
        return made

    def _commit(self, identifier: tuple[str, ...], body: bytes) -> Answer:
        fault = self._faults.popleft() if self._faults else Fault.NONE
        if fault is Fault.HOLD:
            self.holding.set()
            self._released.wait(120)
        name = identifier[-1]
        try:
            answer = self._land(identifier, body) if fault.lands else Answer(200, {})
        except Exception:
            self.seen.append(Seen(name, fault, landed=False))
            raise
        self.seen.append(Seen(name, fault, landed=fault.lands))
        return _told(fault, answer)

    def _land(self, identifier: tuple[str, ...], body: bytes) -> Answer:
        request = CommitTableRequest.model_validate_json(body)
        # The catalog asks the table only for its name: one being created is not there yet.
        table: Any = SimpleNamespace(name=lambda: identifier)
        done = self._catalog.commit_table(table, request.requirements, request.updates)
        return Answer(200, _shown(done))


def _told(fault: Fault, truth: Answer) -> Answer:
    match fault:
        case Fault.FAIL | Fault.LAND_THEN_FAIL:
            return _error(500, RuntimeError("the server has a bad day"))
        case Fault.REFUSE | Fault.LAND_THEN_REFUSE:
            return _error(409, CommitFailedException("the table has moved"))
        case Fault.LAND_THEN_BUSY:
            busy = _error(503, RuntimeError("come back later"))
            return Answer(503, busy.body, (("Retry-After", "1"),))
        case Fault.LAND_THEN_HANG_UP:
            return Answer(0, {})
        case _:
            return truth


def _error(status: int, failure: Exception) -> Answer:
    error = {"message": str(failure), "type": type(failure).__name__, "code": status}
    return Answer(status, {"error": error})


def _shown(table: Any) -> dict[str, Any]:
    metadata = json.loads(table.metadata.model_dump_json())
    return {"metadata-location": table.metadata_location, "metadata": metadata, "config": {}}


def _parts(namespace: str) -> tuple[str, ...]:
    return tuple(namespace.split("\x1f"))


class Handler(BaseHTTPRequestHandler):
    """Speaks HTTP for the catalog it was made for."""

    catalog: RestCatalogServer
    # Otherwise header and body wait for each other on the wire, 40 ms an answer.
    wbufsize = -1
    disable_nagle_algorithm = True
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.catalog.connections.add(self.connection)

    def finish(self) -> None:
        self.catalog.connections.discard(self.connection)
        with suppress(OSError):
            super().finish()

    def do_GET(self) -> None:
        self._serve("GET")

    def do_POST(self) -> None:
        self._serve("POST")

    def log_message(self, *_: object) -> None:
        """Keep quiet."""

    def _serve(self, method: str) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        pieces = urlparse(self.path).path.strip("/").split("/")[1:]
        answer = self.catalog.answer(method, [unquote(piece) for piece in pieces], body)
        if answer.status == 0:
            self._hang_up()
            return
        self._write(answer)

    def _write(self, answer: Answer) -> None:
        data = json.dumps(answer.body).encode()
        try:
            self.send_response(answer.status)
            for name, value in (*answer.headers, ("Content-Length", str(len(data)))):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            # Whoever asked is dead.
            self.close_connection = True

    def _hang_up(self) -> None:
        self.close_connection = True
        # Closed with a reset: the client must not take it for the end of an answer.
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()
