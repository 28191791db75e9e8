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


def _texts(process: subprocess.Popen[str], text: str | None) -> tuple[list[str], list[threading.Thread]]:
    """Threads that feed the program and read both of its streams: whatever interrupts the caller, no part of a text gets lost."""
    texts = ["", ""]

    def read(at: int, stream: IO[str]) -> None:
        with stream:
            texts[at] = stream.read()

    def write(stream: IO[str]) -> None:
        with contextlib.suppress(BrokenPipeError), stream:
            stream.write(text or "")

    threads = [threading.Thread(target=read, args=(at, stream), daemon=True)
               for at, stream in enumerate((process.stdout, process.stderr)) if stream is not None]
    if process.stdin is not None:
        threads.append(threading.Thread(target=write, args=(process.stdin,), daemon=True))
    for thread in threads:
        thread.start()
    return texts, threads


def _wait(process: subprocess.Popen[str], threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join()
    process.wait()


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
        texts, threads = _texts(process, text)
        try:
            _wait(process, threads)
        except KeyboardInterrupt:
            interrupted = True
            process.send_signal(signal.SIGINT)
            _wait(process, threads)
    except BaseException:  # no caller waits for the answer any more
        process.kill()
        raise
    out, err = texts
    code = process.returncode
    if interrupted and not out.strip():
        raise KeyboardInterrupt
    if code not in (0, 1) and not interrupted:
        _raise(code, err)
    return Answer(code, out, err, interrupted)


def ask(arguments: list[str], text: str | None = None) -> tuple[dict[str, Any], Answer]:
    """Runs a command that has ``--json-out``: its JSON, and what it prints for people."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "answer.json")
        answer = call([*arguments, "--json-out", str(file), "--color", "never"], text)
        return json.loads(file.read_text()), answer
