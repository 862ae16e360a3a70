"""A server on the loopback interface that answers ranges, as servers of files and object stores do."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import pathlib
import threading
from collections.abc import Iterator


class Server(http.server.ThreadingHTTPServer):
    """Serves the files of a folder. If there is a ``word``, each request needs it in the header ``X-Word``."""

    daemon_threads = True

    def __init__(self, folder: pathlib.Path, word: str | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder = folder
        self.word = word
        self.requests: list[str] = []
        #: What the last request said.
        self.said: dict[str, str] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *_: object) -> None:
        pass

    def answer(self, status: int, content: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        self.server.said = {name.lower(): value for name, value in self.headers.items()}
        path = self.server.folder / self.path.split("?")[0].strip("/")
        if self.server.word is not None and self.headers.get("X-Word") != self.server.word:
            return self.answer(403, b"the word is missing")
        if not path.is_file():
            return self.answer(404, b"")
        content = path.read_bytes()
        tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
        headers = {"ETag": tag, "Accept_Ranges": "bytes", "Last_Modified": "Wed, 25 Nov 2026 12:00:00 GMT"}
        if self.headers.get("If-Match") not in (None, tag):
            return self.answer(412, b"", **headers)
        asked = self.headers.get("Range", "").removeprefix("bytes=")
        if not asked:
            return self.answer(200, content, **headers)
        first, _, last = asked.partition("-")
        start = int(first) if first else max(0, len(content) - int(last))
        end = min(int(last) + 1, len(content)) if first and last else len(content)
        headers["Content_Range"] = f"bytes {start}-{end - 1}/{len(content)}"
        self.answer(206, content[start:end], **headers)

    do_HEAD = do_GET


@contextlib.contextmanager
def serving(folder: pathlib.Path, word: str | None = None) -> Iterator[Server]:
    with Server(folder, word) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
