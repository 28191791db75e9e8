"""What the Python package takes: import, simulation to columns, frames, a notebook's picture. Best of several, in milliseconds.

    python bench/python_bench.py          in an environment that has the package, pandas, polars and pyarrow
"""

import subprocess
import sys
import time
from collections.abc import Callable

import pipeloom as pl


def best(work: Callable[[], object], times: int = 7) -> float:
    out = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        work()
        out = min(out, time.perf_counter() - start)
    return 1e3 * out


def alone(code: str, times: int = 5) -> float:
    """In a process of its own: the least of what it prints, seconds."""
    runs = (subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout for _ in range(times))
    return 1e3 * min(float(text) for text in runs)


def small(metrics: bool = False) -> pl.Run:
    return pl.simulate("1f1b", ranks=32, microbatches=1024, metrics=metrics)


def main() -> None:
    clock = "import time; start = time.perf_counter(); import pipeloom as pl; {}; print(time.perf_counter() - start)"
    rows = {
        "import": alone(clock.format("pass")),
        "import to a notebook's picture, 6,144 ops": alone(clock.format("pl.simulate('zbv', ranks=16, microbatches=64)._repr_html_()")),
        "simulate 65,536 ops": best(lambda: small()),
        "simulate 65,536 ops, to columns": best(lambda: small().timeline),
        "simulate 65,536 ops, with metrics": best(lambda: small(True)),
    }
    large = pl.simulate("1f1b", ranks=500, microbatches=1000, metrics=False)
    rows["columns of a million ops"] = best(lambda: large.timeline)
    for name in ("to_pandas", "to_polars", "to_arrow"):
        rows[f"{name}, a million ops"] = best(getattr(large, name))
    for name, milliseconds in rows.items():
        print(f"{name:45} {milliseconds:8.2f} ms")


if __name__ == "__main__":
    main()
