"""Pipeloom: which pipeline-parallel schedule, how good, and why.

    import pipeloom as pl
    run = pl.simulate("zbv", ranks=8, microbatches=32, costs={"forward": 1, "backward": 2})
    run.bubble_ratio, run.to_pandas()

docs/python.md is the manual. Nothing here needs a network, a compiler or a GPU; ``pipeloom.torch`` imports torch when it is used.
"""

from ._api import calibrate, compare, convert, estimate, explain, from_link, hardware, models, plan, read, schedules, simulate, sweep, validate
from ._core import kinds as _kinds
from ._core import version as _version
from ._errors import DeviceError, Error, HangError, InputError, ScheduleError, TooLargeError
from ._result import Answer, Result
from ._results import Candidate, Comparison, Plan, ScheduleInfo, ScheduleList, Sweep, Validation
from ._run import Run
from ._source import Schedule

#: Letters of the kinds of ops: a timeline's column ``kind`` holds indices into it.
KINDS: list[str] = _kinds()
__version__: str = _version()

__all__ = [
    "KINDS", "Answer", "Candidate", "Comparison", "DeviceError", "Error", "HangError", "InputError", "Plan", "Result", "Run",
    "Schedule", "ScheduleError", "ScheduleInfo", "ScheduleList", "Sweep", "TooLargeError", "Validation", "calibrate", "compare",
    "convert", "estimate", "explain", "from_link", "hardware", "models", "plan", "read", "schedules", "simulate", "sweep", "validate",
]
