"""Errors, as exceptions that say where."""

from __future__ import annotations

import re

_HELP = re.compile(r"`pipeloom ([a-z]+)(?: --help)?`")
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*)")


def in_python(text: str) -> str:
    """A message of the program in the package's words: ``--global-batch`` is ``global_batch`` here. Whole commands in backticks stay."""
    text = _HELP.sub(lambda found: f"help(pipeloom.{found[1]})", text)
    parts = text.split("`")
    parts[::2] = [_OPTION.sub(lambda found: found[1].replace("-", "_"), part) for part in parts[::2]]
    return "`".join(parts)


class Error(Exception):
    """Base of all errors of Pipeloom.

    Attributes: ``message`` what was found, what is allowed and what to do; ``file``, ``line``, ``column`` where (line and column count from 1,
    0 is unknown, ``file`` may be ""); ``exit_code`` what the program would end with; ``hint`` the last part of the message, "" if it has one
    part only.
    """

    def __init__(self, message: str, file: str = "", line: int = 0, column: int = 0, exit_code: int = 2) -> None:
        super().__init__(message, file, line, column, exit_code)
        self.message = in_python(message)
        self.file = "configuration" if file == "standard input" else in_python(file)
        self.line = line
        self.column = column
        self.exit_code = exit_code

    @property
    def hint(self) -> str:
        _, found, rest = self.message.partition("; ")
        return rest if found else ""

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        return f"{place}: {self.message}" if place else self.message


class InputError(Error, ValueError):
    """Unreadable or contradictory input."""


class TooLargeError(InputError):
    """A run that needs more memory than it may use."""


class ScheduleError(Error, ValueError):
    """Parameters that a schedule refuses, or a schedule that is illegal."""


class HangError(ScheduleError):
    """A schedule whose only defect is that it hangs; the message names the cycle of waits."""


class DeviceError(Error, RuntimeError):
    """A disk, device or worker that failed."""
