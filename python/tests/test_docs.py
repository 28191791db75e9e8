"""Examples in docstrings and in docs/python.md run and print what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PAGE = Path(__file__).parents[2] / "docs" / "python.md"


@pytest.mark.parametrize("module", ["_api", "_run", "_source", "_results"])
def test_docstrings(module: str) -> None:
    found = doctest.testmod(importlib.import_module(f"pipeloom.{module}"), optionflags=FLAGS)
    assert found.failed == 0


def test_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A fence ends what an example prints, as an empty line does.
    text = PAGE.read_text().replace("\n```", "\n\n```")
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    test = doctest.DocTestParser().get_doctest(text, {}, "docs/python.md", str(PAGE), 0)
    assert len(test.examples) >= 20
    runner.run(test)
    assert runner.failures == 0
