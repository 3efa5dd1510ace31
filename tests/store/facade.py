"""A small ClickHouse HTTP server over chDB, so that the store's SQL is tried the server's way.

Run as a program: `facade.py FOLDER` prints its port on 127.0.0.1 and serves until it is killed.
It knows what a client of ours sends: the statement in `query` or the body, `database`, settings
and `param_*` in the address, Native data behind an INSERT.
"""

from __future__ import annotations

import gzip
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, SimpleQueue
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import cramjam
from chdb.state.sqlitelike import Connection

from seedance.store.handover import file_of

NOT_SETTINGS = {
    *("query", "database", "default_format", "user", "password", "session_id", "query_id"),
    *("enable_http_compression", "compress", "decompress", "wait_end_of_query", "role"),
    *("send_progress_in_http_headers", "http_headers_progress_interval_ms", "buffer_size"),
    *("cancel_http_readonly_queries_on_client_close", "client_protocol_version"),
}
INSERT = re.compile(rb"\s*(INSERT\s+INTO\s.*?)\s+FORMAT\s+(\w+)[ \t]*\n", re.IGNORECASE | re.DOTALL)
FORMAT = re.compile(r"\sFORMAT\s+(\w+)\s*;?\s*$", re.IGNORECASE)
CODE = re.compile(r"Code: (\d+)")
UNPACK = {
    "gzip": gzip.decompress,
    "zstd": lambda body: bytes(cramjam.zstd.decompress(body)),
    "lz4": lambda body: bytes(cramjam.lz4.decompress(body)),
}


class Pool:
    """Connections of one chDB; each is lent to one request at a time."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.root = Connection(folder)
        self.idle: SimpleQueue[Any] = SimpleQueue()

    @contextmanager
    def lent(self, database: str) -> Iterator[Any]:
        try:
            connection = self.idle.get_nowait()
        except Empty:
            connection = Connection(self.folder)
        try:
            connection.query(f"USE `{database}`")
            yield connection
        except BaseException:
            connection.close()  # it would put half an answer before the next one
            raise
        self.idle.put(connection)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 20  # head and body leave together: no delayed acknowledgements
    disable_nagle_algorithm = True
    pool: Pool

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        if urlsplit(self.path).path == "/ping":
            self.answer(200, b"Ok.\n")
        else:
            self.serve(b"")

    def do_POST(self) -> None:
        body = self.body()
        unpack = UNPACK.get(self.headers.get("Content-Encoding", ""))
        self.serve(unpack(body) if unpack else body)

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        pieces = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def serve(self, body: bytes) -> None:
        asked = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        try:
            with self.pool.lent(asked.get("database") or "default") as connection:
                fmt, data = run(connection, asked, body)
            self.answer(200, data, {"X-ClickHouse-Format": fmt})
        except Exception as fault:
            code = CODE.search(str(fault))
            headers = {"X-ClickHouse-Exception-Code": code[1] if code else "1002"}
            self.answer(500, str(fault).encode(), headers)

    def answer(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        facts = {
            "X-ClickHouse-Summary": '{"read_rows":"0","written_rows":"0"}',
            "X-ClickHouse-Timezone": "UTC",
            "Content-Length": str(len(data)),
            **(headers or {}),
        }
        for name, value in facts.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


def run(connection: Any, asked: dict[str, str], body: bytes) -> tuple[str, bytes]:
    """Runs one request; the format and the bytes of its answer."""
    settings = {
        name: value
        for name, value in asked.items()
        if name not in NOT_SETTINGS and not name.startswith("param_")
    }
    # A connection is shared by requests: what only this one wants goes into its statement.
    token = settings.pop("insert_deduplication_token", "")
    for name, value in settings.items():
        if re.fullmatch(r"\w+", name):
            connection.query(f"SET {name} = '{value}'")
    sql = asked.get("query", "")
    insert = INSERT.match(sql.encode() + b"\n" + body if sql else body)
    if insert:
        head = insert[1].decode()
        settings = f" SETTINGS insert_deduplication_token = '{token}'" if token else ""
        data = (sql.encode() + b"\n" + body if sql else body)[insert.end() :]
        with file_of([data]) as path:
            connection.query(f"{head} FROM INFILE '{path}'{settings} FORMAT {insert[2].decode()}")
        return "", b""
    return answer_of(connection, asked, sql or body.decode())


def answer_of(connection: Any, asked: dict[str, str], sql: str) -> tuple[str, bytes]:
    named = FORMAT.search(sql)
    fmt = named[1] if named else asked.get("default_format", "TabSeparated")
    params = {name[6:]: value for name, value in asked.items() if name.startswith("param_")}
    found = connection.query(sql[: named.start()] if named else sql, fmt, params=params)
    return fmt, b"" if found is None else found.bytes()


def main() -> None:
    Handler.pool = Pool(sys.argv[1])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
