"""The wheel: what it holds, what importing it takes, and what its types say."""

import subprocess
import sys
import textwrap
from importlib import metadata
from pathlib import Path

import pipeloom as pl


def test_the_program_is_of_the_same_version() -> None:
    program = Path(sys.executable).parent / "pipeloom"
    said = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
    assert said.split()[:2] == ["pipeloom", metadata.version("pipeloom")] == ["pipeloom", pl.__version__]


def test_exit_codes_pass_through() -> None:
    program = Path(sys.executable).parent / "pipeloom"
    assert subprocess.run([program, "simulate", "--schedule", "nope"], capture_output=True).returncode == 2


def test_importing_takes_nothing_that_is_slow() -> None:
    code = "import sys, pipeloom; print([name for name in ('numpy', 'pandas', 'torch', 'matplotlib', 'IPython') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip() == "[]"


def test_it_brings_its_types() -> None:
    folder = Path(pl.__file__).parent
    assert (folder / "py.typed").exists()
    assert "def run(" in (folder / "_core.pyi").read_text()


def test_everything_public_is_documented() -> None:
    for name in pl.__all__:
        if callable(getattr(pl, name)):
            assert getattr(pl, name).__doc__, name


def mypy(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "mypy", "--strict", *arguments], capture_output=True, text=True)


def test_types_of_a_program(tmp_path: Path) -> None:
    good = tmp_path / "good.py"
    good.write_text(textwrap.dedent("""
        import pipeloom as pl

        run: pl.Run = pl.simulate("zbv", ranks=4, microbatches=8, costs={"forward": 1.5})
        orders: list[list[str]] = run.orders
        best: pl.Candidate = pl.plan({"schedule": "1f1b", "ranks": 4, "microbatches": 8}).best
        text: str = pl.convert(run, "torch-compute")
        fits: bool = run.fits
    """))
    found = mypy(str(good))
    assert found.returncode == 0, found.stdout
    bad = tmp_path / "bad.py"
    bad.write_text('import pipeloom as pl\npl.simulate("zbv", ranks="four")\nx: int = pl.convert("zbv", "json")\npl.simulat("zbv")\n')
    lines = {line.split(":")[1] for line in mypy(str(bad)).stdout.splitlines() if ": error:" in line}
    assert lines == {"2", "3", "4"}


def test_types_of_the_package() -> None:
    found = mypy("-p", "pipeloom")
    assert found.returncode == 0, found.stdout
