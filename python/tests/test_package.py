"""The wheel: what it holds, what importing it takes, and what its types say."""

import ast
import inspect
import re
import subprocess
import sys
import textwrap
from importlib import metadata
from pathlib import Path

import pytest

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


#: Each module may import those before it.
ORDER = ["_core", "_errors", "_optional", "_cluster", "_source", "_program", "_result", "_frames", "_plots", "_run", "_results", "_api", "__init__", "play"]


def siblings(module: Path) -> set[str]:
    """Modules of the package that one imports, also inside functions and for types alone."""
    out: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            out |= {node.module} if node.module else {alias.name for alias in node.names}
    return out


def test_imports_have_one_direction() -> None:
    folder = Path(pl.__file__).parent
    modules = [path for path in folder.glob("*.py")]
    assert {path.stem for path in modules} == set(ORDER) - {"_core"}
    for path in modules:
        before = ORDER[: ORDER.index(path.stem)]
        assert siblings(path) <= {*before}, path.name


#: Options of a command that are no arguments in Python: how it prints, what it writes, and where it reads from.
NO_ARGUMENTS = {
    "help", "quiet", "verbose", "color", "format", "json", "markdown", "json-out", "force", "include", "output", "timeline", "chart", "pareto",
    "schedule-out", "max-memory", "to",
}
#: Second names of options that have the first as an argument.
SECOND_NAMES = {"color-by"}


@pytest.mark.parametrize("name", ["plan", "estimate", "calibrate", "explain", "convert"])
def test_arguments_are_the_options_of_the_command(name: str) -> None:
    program = Path(sys.executable).parent / "pipeloom"
    printed = subprocess.run([program, name, "--help"], check=True, capture_output=True, text=True).stdout
    lines = [line for line in printed.splitlines() if re.match(r" {2,}-", line)]
    options = {option for line in lines for option in re.findall(r"(?<![\w-])--([a-z][a-z-]*)", re.split(r"  +", line.strip())[0])}
    signature = inspect.signature(getattr(pl, name)).parameters
    arguments = {key.rstrip("_").replace("_", "-") for key, value in signature.items() if value.kind is inspect.Parameter.KEYWORD_ONLY}
    reads = {"from", "mapping", "schedule"} if name == "convert" else set()  # pl.read has two of them, the first argument the third
    assert options - NO_ARGUMENTS - SECOND_NAMES - reads == arguments
