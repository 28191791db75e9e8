"""One process that stands for each rank of a group in turn: torch.distributed's own fake backend, no messages."""
import contextlib
import os
import pickle

import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore


@contextlib.contextmanager
def as_rank(rank, world):
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world)
    try:
        yield
    finally:
        dist.destroy_process_group()


def in_child(act):
    """Calls `act` in a process of its own, as torch keeps the meshes of one group for the next. Raises what it raised there."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "wb") as out:
            out.write(pickle.dumps(raised_by(act)))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as said:
        answer = said.read()
    os.waitpid(child, 0)
    error = pickle.loads(answer) if answer else RuntimeError("the process ended early")
    if error is not None:
        raise error


def raised_by(act):
    """The exception, or a RuntimeError with its words where it cannot leave the process; nothing where there was none."""
    try:
        act()
    except Exception as error:  # pylint: disable=broad-except
        try:
            pickle.loads(pickle.dumps(error))
            return error
        except Exception:  # pylint: disable=broad-except
            return RuntimeError(f"{type(error).__name__}: {error}")
    return None
