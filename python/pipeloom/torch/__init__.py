"""Schedules of Pipeloom in torch.distributed.pipelining: load one, train with it, measure it, predict the others. And any model, counted without a device.

torch is imported by what needs it and not before: static checks and predictions work without it.
"""
from ._actions import check_actions, parse, parse_compute
from .. import InputError, ScheduleError
from ._costs import predict, rank, restage
from ._gradients import GradientCheck, check_gradients
from ._load import load_schedule, step
from ._model import model
from ._ranges import ranges
from ._record import Recording, record

__all__ = [
    "GradientCheck",
    "InputError",
    "Recording",
    "ScheduleError",
    "check_actions",
    "check_gradients",
    "load_schedule",
    "model",
    "parse",
    "parse_compute",
    "predict",
    "ranges",
    "rank",
    "record",
    "restage",
    "step",
]
