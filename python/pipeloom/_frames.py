"""Timelines as columns and frames."""

from __future__ import annotations

from typing import Any, Protocol

from . import _core, _optional


class Timed(Protocol):
    """The facts of a run that its times depend on."""

    _core: Any

    @property
    def num_ops(self) -> int: ...
    @property
    def num_ranks(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def ticks_per_unit(self) -> int: ...
    @property
    def unit(self) -> str: ...
    @property
    def memory(self) -> Any: ...


KINDS: list[str] = _core.kinds()


def _tiled(run: Timed, column: Any) -> Any:
    """One value per op and step; a view where there is one step."""
    import numpy

    if run.steps == 1:
        return column
    tiled = numpy.tile(column, run.steps)
    tiled.flags.writeable = False
    return tiled


def columns(run: Timed) -> dict[str, Any]:
    core = run._core
    out = {name: _tiled(run, getattr(core, name)) for name in ("rank", "stage", "kind", "microbatch", "slice")}
    out["start"] = core.start
    out["end"] = core.end
    if run.steps > 1:
        import numpy

        out["step"] = numpy.repeat(numpy.arange(run.steps, dtype=numpy.int32), run.num_ops)
        out["step"].flags.writeable = False
    return out


def in_units(run: Timed) -> dict[str, Any]:
    """The columns with times as floats of the run's unit."""
    out = columns(run)
    for name in ("start", "end"):
        out[name] = out[name] / run.ticks_per_unit
    return out


def to_pandas(run: Timed) -> Any:
    pandas = _optional.module("pandas", "frames")

    data = in_units(run)
    data["kind"] = pandas.Categorical.from_codes(data["kind"], KINDS)
    return pandas.DataFrame(data, copy=False)


def to_arrow(run: Timed) -> Any:
    pyarrow = _optional.module("pyarrow", "frames")

    data = in_units(run)
    data["kind"] = pyarrow.DictionaryArray.from_arrays(pyarrow.array(data["kind"]), KINDS)
    return pyarrow.table(data)


def to_polars(run: Timed) -> Any:
    polars = _optional.module("polars", "frames")

    data = in_units(run)
    kinds = polars.Series(data["kind"])
    frame = polars.DataFrame(data)
    return frame.with_columns(kind=kinds.cast(polars.UInt32).replace_strict(dict(enumerate(KINDS)), return_dtype=polars.Enum(KINDS)))
