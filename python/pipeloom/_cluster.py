"""Parts of a sweep on the workers of Dask, Ray or an executor: who hands them out, and what happens when a worker dies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ._errors import InputError

Part = Any
Run = Callable[[int], Part]


def parts(client: Any, run: Run, count: int, retries: int) -> Iterator[Part]:
    """``run(1) .. run(count)`` on the workers of ``client``, as they end. A part that raises or whose worker dies is tried again, ``retries`` times.

    Raises what the part raised last.
    """
    if hasattr(client, "remote") and hasattr(client, "get"):
        yield from _on_ray(client, run, count, retries)
    elif hasattr(client, "submit"):
        yield from _on_futures(client, run, count, retries)
    else:
        raise InputError(f"client is a {type(client).__name__}; give a dask.distributed.Client, the module ray, or an executor of concurrent.futures")


def workers_of(client: Any) -> int:
    """How many workers there are; 1 where nothing says it."""
    if hasattr(client, "scheduler_info"):
        return max(1, sum(int(worker["nthreads"]) for worker in client.scheduler_info(n_workers=-1)["workers"].values()))
    if hasattr(client, "cluster_resources"):
        return max(1, int(client.cluster_resources().get("CPU", 1)))
    return max(1, int(getattr(client, "_max_workers", 1)))


def _on_futures(client: Any, run: Run, count: int, retries: int) -> Iterator[Part]:
    """Dask's Client and executors: both have ``submit``, and futures with ``result``."""
    # A pure function of Dask would be given its first, failed, answer again.
    options = {"pure": False} if hasattr(client, "scheduler_info") else {}
    tried = dict.fromkeys(range(1, count + 1), 0)
    waiting = {client.submit(run, part, **options): part for part in tried}
    try:
        while waiting:
            for future in _ended(client, list(waiting)):
                part = waiting.pop(future)
                try:
                    found = future.result()
                except Exception:
                    tried[part] += 1
                    if tried[part] > retries:
                        raise
                    waiting[client.submit(run, part, **options)] = part
                    continue
                yield found
    finally:
        for future in waiting:
            future.cancel()


def _ended(client: Any, futures: list[Any]) -> list[Any]:
    """At least one of them."""
    if hasattr(client, "scheduler_info"):
        import distributed

        return list(distributed.wait(futures, return_when="FIRST_COMPLETED").done)
    import concurrent.futures

    return list(concurrent.futures.wait(futures, return_when=concurrent.futures.FIRST_COMPLETED).done)


def _on_ray(ray: Any, run: Run, count: int, retries: int) -> Iterator[Part]:
    # Ray tries a task whose worker dies again by itself; one that raised only if it is told so.
    # It takes functions alone, no partial ones.
    def one(part: int) -> Part:
        return run(part)

    task = ray.remote(max_retries=retries, retry_exceptions=True)(one)
    waiting = [task.remote(part) for part in range(1, count + 1)]
    try:
        while waiting:
            ended, waiting = ray.wait(waiting)
            for reference in ended:
                yield ray.get(reference)
    finally:
        for reference in waiting:
            ray.cancel(reference)
