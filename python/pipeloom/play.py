"""``python -m pipeloom.play [FILE...]``: serves the page that links open in, on this machine alone, and opens the browser there.

It is what ``pipeloom serve`` does, by Python's own server: the page travels in the wheel. ``--folder`` serves the files of one folder too, to be read,
below a path that holds a random text.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import stat
import sys
import urllib.parse
import webbrowser
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import IO

from . import _program
from ._errors import Error
from ._source import no_option

PORT = 8917
SITE = Path(__file__).parent / "site"

# The page runs its own scripts and its own module, and reaches nothing but its own folder.
_PAGE_POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# A user's file is looked at, and never runs.
_FILE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
_HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_TYPES = {
    ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8", ".wasm": "application/wasm", ".json": "application/json", ".svg": "image/svg+xml",
    ".png": "image/png", ".ico": "image/x-icon", ".webmanifest": "application/manifest+json", ".woff2": "font/woff2",
    ".ttf": "font/ttf", ".txt": "text/plain; charset=utf-8", ".md": "text/plain; charset=utf-8", ".csv": "text/csv; charset=utf-8",
    ".jsonl": "application/jsonl",
}
_BLOCK = 1 << 16


def _open_below(root: str, path: str) -> IO[bytes] | None:
    """The regular file at ``path`` below ``root``, or None: a part that leads out of it finds nothing, be it ".." or a symbolic link."""
    parts = path.split("/")
    if any(part in ("", ".", "..") or "\\" in part or "\0" in part for part in parts):
        return None
    try:
        # Without O_NONBLOCK a named pipe, which is refused below, would wait for its writer.
        file = os.fdopen(os.open(os.path.join(root, *parts), os.O_RDONLY | os.O_NONBLOCK), "rb")
    except (OSError, ValueError):
        return None
    real = os.path.realpath(f"/proc/self/fd/{file.fileno()}")
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode) and real.startswith(root.rstrip("/") + "/"):
        return file
    file.close()
    return None


def _is_loopback(host: str) -> bool:
    """True if a Host header names this machine: a page of another name that was made to lead here has its own."""
    name, _, port = host.rpartition(":") if host.count(":") == 1 or "]:" in host else (host, "", "1")
    return name.lower() in ("127.0.0.1", "localhost", "[::1]") and port.isascii() and port.isdigit()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "pipeloom"
    sys_version = ""
    timeout = 30  # seconds for a request that does not come

    def __init__(self, *arguments: object, site: str, folder: str, token: str) -> None:
        self._site, self._folder, self._token = site, folder, token
        super().__init__(*arguments)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, with_body: bool) -> None:
        if not _is_loopback(self.headers.get("Host", "")):
            return self._refuse(HTTPStatus.MISDIRECTED_REQUEST)
        path = urllib.parse.unquote(self.path.partition("?")[0], errors="surrogateescape")
        prefix = f"/{self._token}/"
        is_of_folder = bool(self._folder) and path.startswith(prefix)
        name = path.removeprefix(prefix) if is_of_folder else "index.html" if path == "/" else path[1:]
        file = _open_below(self._folder if is_of_folder else self._site, name)
        if file is None:
            return self._refuse(HTTPStatus.NOT_FOUND)
        with file:
            size = os.fstat(file.fileno()).st_size
            kind = _TYPES.get(os.path.splitext(name)[1].lower(), "application/octet-stream")
            self._begin(HTTPStatus.OK, kind, size, _FILE_POLICY if is_of_folder else _PAGE_POLICY)
            while with_body and size > 0:
                block = file.read(min(_BLOCK, size))
                if not block:  # it was cut meanwhile
                    self.close_connection = True
                    break
                self.wfile.write(block)
                size -= len(block)

    def _begin(self, status: HTTPStatus, kind: str, size: int, policy: str) -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Security-Policy", policy)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(size))
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET, HEAD")
        self.end_headers()

    def _refuse(self, status: HTTPStatus) -> None:
        text = f"{status.phrase}\n".encode()
        self._begin(status, "text/plain; charset=utf-8", len(text), _FILE_POLICY)
        if self.command != "HEAD":
            self.wfile.write(text)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """The server's own refusals: no method but GET and HEAD is known."""
        self.close_connection = True
        self._refuse(HTTPStatus.METHOD_NOT_ALLOWED if code == HTTPStatus.NOT_IMPLEMENTED else HTTPStatus(code))

    def log_message(self, format: str, *arguments: object) -> None:
        """Says nothing: the terminal has the links."""


class _Refused(Exception):
    """A line for the terminal, and the exit code that goes with it."""

    def __init__(self, line: str, code: int) -> None:
        super().__init__(line)
        self.code = code


class _Server(ThreadingHTTPServer):
    def server_bind(self) -> None:
        """Python's own asks the system for this machine's name, which may ask a network."""
        TCPServer.server_bind(self)
        self.server_name = "localhost"
        self.server_port = self.server_address[1]


def server(site: Path, folder: Path | None, port: int) -> tuple[ThreadingHTTPServer, str]:
    """A server on the loopback address, which ``serve_forever`` starts, and its token: "" without a folder. Raises OSError where the port is in use."""
    token = secrets.token_hex(16) if folder is not None else ""
    handler = partial(_Handler, site=os.path.realpath(site), folder=os.path.realpath(folder) if folder is not None else "", token=token)
    return _Server(("127.0.0.1", port), handler), token


def _arguments(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m pipeloom.play", description="Open runs in the browser, offline: nothing leaves this machine.")
    parser.add_argument("files", nargs="*", metavar="FILE", help="configurations, schedules' names or links: a link is printed for each")
    parser.add_argument("--port", type=int, default=PORT, help=f"port of 127.0.0.1; 0 takes any that is free; default {PORT}")
    parser.add_argument("--folder", type=Path, help="serve the files below this folder too, to be read, below a random path")
    parser.add_argument("--site", type=Path, help="folder of the page, by default the one in this package")
    parser.add_argument("--no-browser", action="store_true", help="print the addresses alone")
    return parser.parse_args(words)


def _play(options: argparse.Namespace) -> None:
    if options.site is None and not SITE.is_dir():
        raise _Refused("this package was built without the page; name its folder with --site: the release has it as an archive", 3)
    site = options.site or SITE
    if not (site / "index.html").is_file():
        raise _Refused(f"{site} holds no index.html; name the folder of the page with --site", 2)
    if options.folder is not None and not options.folder.is_dir():
        raise _Refused(f"{options.folder} is no folder that can be read; name one", 2)
    fragments = [(name, _program.call(["link", no_option(name), "--base", ""]).out.strip()) for name in options.files]
    try:
        serving, token = server(site, options.folder, options.port)
    except (OSError, OverflowError) as error:
        raise _Refused(f"port {options.port} of 127.0.0.1 is in use or may not be taken; give another with --port, or 0 for any that is free",
                       2) from error
    address = f"http://127.0.0.1:{serving.server_port}/"
    print(address)
    for name, fragment in fragments:
        print(f"{name}  {address}{fragment}")
    if token:
        print(f"{options.folder}  {address}#u={token}/NAME")
    print("Ctrl-C ends it.", file=sys.stderr)
    sys.stdout.flush()
    if not options.no_browser:
        webbrowser.open(address + (fragments[0][1] if fragments else ""))
    with serving:
        serving.serve_forever()


def main(words: list[str] | None = None) -> int:
    """The exit code: 0 ended by a signal, 2 wrong input or a port in use, 3 there is no page."""
    try:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        _play(_arguments(words))
    except KeyboardInterrupt:
        pass
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except _Refused as refused:
        print(f"error: {refused}", file=sys.stderr)
        return refused.code
    return 0


if __name__ == "__main__":
    sys.exit(main())
