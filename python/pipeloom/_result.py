"""JSON objects whose keys are attributes too, and how they are shown."""

from __future__ import annotations

import html
from typing import Any


class Result(dict[str, Any]):
    """A JSON object; nested ones are Results, arrays lists."""

    def __init__(self, data: dict[str, Any]) -> None:
        super().__init__({key: _wrapped(value) for key, value in data.items()})

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no '{name}' here; there are {', '.join(self)}") from None

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self})

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self),)


def _wrapped(value: Any) -> Any:
    if isinstance(value, Result):
        return value
    if isinstance(value, dict):
        return Result(value)
    if isinstance(value, list):
        return [_wrapped(item) for item in value]
    return value


class Answer(Result):
    """A command's answer: its JSON as keys, and ``text``, which is what the command prints and what this object shows of itself."""

    def __init__(self, data: dict[str, Any], text: str = "") -> None:
        super().__init__(data)
        # Not a key: the keys are those of the schema.
        object.__setattr__(self, "text", text.rstrip("\n"))

    text: str

    def __repr__(self) -> str:
        return self.text or super().__repr__()

    def _repr_html_(self) -> str:
        return preformatted(repr(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self), self.text)


def preformatted(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"


def table(head: list[str], rows: list[list[str]]) -> str:
    """An HTML table; every cell is text."""

    def row(cells: list[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return "<table>" + row(head, "th") + "".join(row(cells, "td") for cells in rows) + "</table>"


def percent(ratio: float) -> str:
    """A share as the program prints it: "27.3 %", and below 0.1 % two decimals."""
    return f"{100 * ratio:.{1 if ratio == 0 or abs(ratio) >= 0.00095 else 2}f} %"


def change(ratio: float) -> str:
    """"-18.2 %", "+3.0 %"."""
    return ("+" if ratio > 0 else "") + percent(ratio)


def number(value: Any) -> str:
    """A table's cell: "–" for what is not known."""
    return "–" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
