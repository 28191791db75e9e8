"""One process that stands for each rank of a group in turn: torch.distributed's own fake backend, no messages."""
import contextlib

import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore


@contextlib.contextmanager
def as_rank(rank, world):
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world)
    try:
        yield
    finally:
        dist.destroy_process_group()
