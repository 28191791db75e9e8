"""The command line that travels in the wheel: on PATH as ``pipeloom``, and under the functions whose results are its JSON."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from . import _errors

_LINE = re.compile(r"^(?:(?P<file>.*?)(?::(?P<line>\d+))?(?::(?P<column>\d+))?: )?error: (?P<message>.*)$")
# The program's exit codes that are errors; 0 is fine and 1 an answer.
_CLASSES = {2: _errors.InputError, 3: _errors.DeviceError}


def path() -> str:
    """Where the program is."""
    return str(Path(__file__).parent / "bin" / "pipeloom")


def main() -> None:
    """The entry point ``pipeloom``: becomes the program."""
    os.execv(path(), [path(), *sys.argv[1:]])


@dataclass(frozen=True)
class Answer:
    """The output of a command. ``code`` is 0, or 1 where the answer is no."""

    code: int
    out: str
    err: str
    interrupted: bool = False


def _raise(code: int, err: str) -> None:
    lines = [line for line in err.splitlines() if line.strip()]
    last = lines[-1] if lines else f"pipeloom ended with status {code}"
    for line in reversed(lines):
        found = _LINE.match(line)
        if found:
            raise _CLASSES.get(code, _errors.Error)(
                found["message"], found["file"] or "", int(found["line"] or 0), int(found["column"] or 0), code
            )
    raise _CLASSES.get(code, _errors.Error)(last, exit_code=code)


class _Streams:
    """Feeds a program and reads both of its streams to their ends. No part of a text gets lost where Ctrl-C interrupts the caller.

    Its ends are events: CPython 3.11 takes a thread whose join() was interrupted for one that has ended (threading.py, read 2026-11-29).
    """

    def __init__(self, process: subprocess.Popen[str], text: str | None) -> None:
        self.out = ""
        self.err = ""
        self._ends: list[threading.Event] = []
        if process.stdout is not None:
            self._start(self._read, "out", process.stdout)
        if process.stderr is not None:
            self._start(self._read, "err", process.stderr)
        if process.stdin is not None:
            self._start(self._write, text or "", process.stdin)

    def wait(self) -> None:
        """Returns when all texts are read and written. After an interruption it may be called again."""
        for end in self._ends:
            end.wait()

    def _start(self, work: Callable[[str, IO[str]], None], word: str, stream: IO[str]) -> None:
        end = threading.Event()

        def run() -> None:
            try:
                with stream:
                    work(word, stream)
            finally:
                end.set()

        threading.Thread(target=run, daemon=True).start()
        self._ends.append(end)

    def _read(self, name: str, stream: IO[str]) -> None:
        setattr(self, name, stream.read())

    def _write(self, text: str, stream: IO[str]) -> None:
        with contextlib.suppress(BrokenPipeError):
            stream.write(text)
            stream.flush()


def call(arguments: list[str], text: str | None = None) -> Answer:
    """Runs a command to its end. Ctrl-C reaches it once: it then gives the best that it has, and ``interrupted`` says so. Ctrl-C before it
    has anything, or again, is a KeyboardInterrupt.

    Raises the Error of its exit code where that is neither 0 nor 1.
    """
    # A group of its own: a terminal would send its Ctrl-C to both, and the second one kills.
    process = subprocess.Popen(
        [path(), *arguments], stdin=subprocess.PIPE if text is not None else subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )
    interrupted = False
    try:
        streams = _Streams(process, text)
        try:
            streams.wait()
        except KeyboardInterrupt:
            interrupted = True
            process.send_signal(signal.SIGINT)
            streams.wait()
        code = process.wait()
    except BaseException:  # no caller waits for the answer any more
        process.kill()
        raise
    if interrupted and not streams.out.strip():
        raise KeyboardInterrupt
    if code not in (0, 1) and not interrupted:
        _raise(code, streams.err)
    return Answer(code, streams.out, streams.err, interrupted)


def ask(arguments: list[str], text: str | None = None) -> tuple[dict[str, Any], Answer]:
    """Runs a command that has ``--json-out``: its JSON, and what it prints for people."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "answer.json")
        answer = call([*arguments, "--json-out", str(file), "--color", "never"], text)
        return json.loads(file.read_text()), answer
