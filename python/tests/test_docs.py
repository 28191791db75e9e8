"""Examples in docstrings, in README.md and in docs/python.md run and print what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("module", ["_api", "_run", "_source", "_results"])
def test_docstrings(module: str) -> None:
    found = doctest.testmod(importlib.import_module(f"pipeloom.{module}"), optionflags=FLAGS)
    assert found.failed == 0


@pytest.mark.parametrize(("page", "examples"), [("README.md", 3), ("docs/python.md", 20), ("docs/links.md", 4)])
def test_page(page: str, examples: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A fence ends what an example prints, as an empty line does.
    text = (ROOT / page).read_text().replace("\n```", "\n\n```")
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    test = doctest.DocTestParser().get_doctest(text, {}, page, str(ROOT / page), 0)
    assert len(test.examples) >= examples
    runner.run(test)
    assert runner.failures == 0
