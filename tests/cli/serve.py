#!/usr/bin/env python3
"""`pipeloom serve` and `python -m pipeloom.play`: what they send, and what they refuse.

    serve.py --program PROGRAM [--play PYTHON]        PYTHON has the package pipeloom

Starts the server on a port that is free, over a page of its own, and makes requests as sockets take them: no client tidies a path up.
"""

import argparse
import base64
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import zlib
from contextlib import contextmanager
from pathlib import Path

CONFIG = '{"schedule": "1f1b", "ranks": 4, "microbatches": 8}'
HEADERS = {
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
TYPES = {"index.html": "text/html; charset=utf-8", "play.mjs": "text/javascript; charset=utf-8", "core.wasm": "application/wasm", "odd.xyz": "application/octet-stream"}


class Answer:
    def __init__(self, raw):
        head, _, self.body = raw.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1])
        pairs = [line.split(": ", 1) for line in lines[1:]]
        self.headers = {name.lower(): value for name, value in pairs}
        assert len(self.headers) == len(pairs), f"a header twice: {pairs}"


def ask(port, path, method="GET", host=None, more="", body=b""):
    """The answer to one request over a connection of its own."""
    host = f"Host: {host if host is not None else f'127.0.0.1:{port}'}\r\n" if host != "" else ""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(f"{method} {path} HTTP/1.1\r\n{host}Connection: close\r\n{more}\r\n".encode("latin-1") + body)
        raw = b""
        while block := connection.recv(1 << 16):
            raw += block
    return Answer(raw)


def make_site(folder):
    site = folder / "site"
    (site / "parts").mkdir(parents=True)
    for name in (*TYPES, "parts/a.json", "empty.txt"):
        (site / name).write_bytes(name.encode() * (0 if name == "empty.txt" else 50_000 if name == "core.wasm" else 1))
    (folder / "secret").write_text("secret")
    (site / "out").symlink_to(folder / "secret")
    (site / "up").symlink_to(folder)
    (site / "in").symlink_to(site / "index.html")
    os.mkfifo(site / "pipe")
    runs = folder / "runs"
    runs.mkdir()
    (runs / "run one.json").write_text(CONFIG)
    (runs / "page.html").write_text("<script>alert(1)</script>")
    (runs / "out").symlink_to(folder / "secret")
    return site, runs


@contextmanager
def started(command, *words):
    process = subprocess.Popen([*command, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        first = process.stdout.readline()
        if not first:
            raise AssertionError(process.communicate(timeout=20))
        yield process, int(re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\n", first)[1])
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0, process.returncode
        assert process.stderr.read() == "Ctrl-C ends it.\n"
    finally:
        process.kill()


def fails(command, *words):
    """(exit code, standard error) of a start that must fail."""
    done = subprocess.run([*command, *map(str, words)], capture_output=True, text=True, timeout=60)
    assert done.stdout == "", done.stdout
    assert len(done.stderr.splitlines()) == 1, done.stderr
    return done.returncode, done.stderr


def check_site(port):
    for name, kind in TYPES.items():
        got = ask(port, "/" + name)
        assert (got.status, got.headers["content-type"]) == (200, kind), (name, got.headers)
        assert got.body == name.encode() * (50_000 if name == "core.wasm" else 1)
        assert got.headers["content-length"] == str(len(got.body))
        for header, value in HEADERS.items():
            assert got.headers[header] == value, (header, got.headers)
        policy = got.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self' 'wasm-unsafe-eval';" in policy and "connect-src 'self'" in policy
    assert ask(port, "/").body == b"index.html" == ask(port, "/?theme=dark").body == ask(port, "/in").body
    assert ask(port, "/parts/a.json").body == b"parts/a.json"
    empty = ask(port, "/empty.txt")
    assert (empty.status, empty.body) == (200, b"")
    head = ask(port, "/core.wasm", "HEAD")
    assert (head.status, head.headers["content-length"], head.body) == (200, str(50_000 * len("core.wasm")), b"")


def check_refusals(port):
    # Of each, as it is and with its escapes: nothing outside the folder, no folder, nothing that waits.
    for path in ("/../secret", "/parts/../../secret", "/%2e%2e/secret", "/..%2fsecret", "/%2e%2e%2fsecret", "//etc/passwd", "/%2fetc/passwd", "/out",
                 "/up/secret", "/up", "/parts", "/parts/", "/pipe", "/./index.html", "/parts//a.json", "/..\\secret", "/..%5csecret", "/index.html%00.txt", "/nope",
                 "/%", "/%zz", "/" + "a" * 5000, "/index.html/"):
        got = ask(port, path)
        assert got.status in (400, 404, 414), (path, got.status)
        assert b"secret" not in got.body and b"root:" not in got.body, path
        assert got.headers.get("x-content-type-options") == "nosniff" or got.status == 414, (path, got.headers)
    for host in ("evil.example", "127.0.0.1.evil.example:80", "localhost.evil.example", "169.254.169.254", "127.0.0.1:", "[::1", "", f"evil@127.0.0.1:{port}"):
        got = ask(port, "/index.html", host=host)
        assert got.status in (400, 421) and b"index" not in got.body, (host, got.status)
    for host in (f"localhost:{port}", "LOCALHOST", f"[::1]:{port}", "127.0.0.1"):
        assert ask(port, "/index.html", host=host).status == 200, host
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
        got = ask(port, "/index.html", method, more="Content-Length: 3\r\n", body=b"abc")
        assert (got.status, got.headers["allow"]) == (405, "GET, HEAD"), (method, got.status)
    assert ask(port, "/index.html", "BREW").status in (400, 405)


def check_folder(command, site, runs):
    with started(command, "--site", site, "--folder", runs, "--port", 0) as (process, port):
        name, address = process.stdout.readline().rstrip("\n").split("  ")
        token = re.fullmatch(rf"http://127\.0\.0\.1:{port}/#u=([0-9a-f]{{32}})/NAME", address)[1]
        assert name == str(runs)
        got = ask(port, f"/{token}/run%20one.json")
        assert (got.status, got.body.decode(), got.headers["content-type"]) == (200, CONFIG, "application/json")
        # A page of the user's may not run, be it opened from here.
        page = ask(port, f"/{token}/page.html")
        assert page.status == 200 and "sandbox" in page.headers["content-security-policy"] and "script" not in page.headers["content-security-policy"]
        for path in (f"/{token}/out", f"/{token}/", f"/{token}", f"/{token}/../run%20one.json", f"/{token[:-1]}/run%20one.json", "/run%20one.json",
                     f"/{token}/../site/index.html", f"/{token}/%2e%2e/secret", f"/{token}//run%20one.json", f"/{'0' * 32}/run%20one.json"):
            got = ask(port, path)
            assert got.status == 404 and b"secret" not in got.body, (path, got.status)
        return token


def check(command, folder):
    site, runs = make_site(folder)
    config = folder / "run.json"
    config.write_text(CONFIG)
    with started(command, config, config, "--site", site, "--port", 0) as (process, port):
        for _ in range(2):
            name, link = process.stdout.readline().rstrip("\n").split("  ")
            assert name == str(config)
            assert link.startswith(f"http://127.0.0.1:{port}/#c=1."), link
            value = link.partition("#c=1.")[2]
            text = zlib.decompress(base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)), -15).decode()
            assert text == CONFIG.replace(" ", ""), text
        check_site(port)
        check_refusals(port)
        code, said = fails(command, "--site", site, "--port", port)
        assert code == 2 and f"port {port} of 127.0.0.1 is in use" in said, (code, said)
    # Each start has another token.
    assert check_folder(command, site, runs) != check_folder(command, site, runs)
    code, said = fails(command, "--site", folder, "--port", 0)
    assert code == 2 and "holds no index.html" in said, said
    code, said = fails(command, "--site", site, "--folder", folder / "nope", "--port", 0)
    assert code == 2 and "no folder that can be read" in said, said
    code, said = fails(command, folder / "nope.json", "--site", site, "--port", 0)
    assert code == 2 and "nope.json" in said, said


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program")
    parser.add_argument("--play")
    given = parser.parse_args()
    commands = []
    if given.program:
        commands.append([given.program, "serve"])
    if given.play:
        commands.append([given.play, "-m", "pipeloom.play", "--no-browser"])
    for command in commands:
        with tempfile.TemporaryDirectory() as folder:
            check(command, Path(folder).resolve())
    return 0


if __name__ == "__main__":
    sys.exit(main())
