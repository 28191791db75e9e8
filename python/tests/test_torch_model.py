"""pipeloom.torch.model where torch is not: what it refuses before it needs one, and how it is called."""
from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pipeloom as pl
import pipeloom.torch as pt
import pytest


@pytest.fixture
def no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"attention": "ring"}, "attention is 'ring'; it must be one of flash, eager"),
        ({"seq": 0}, "seq is 0; it must be a whole number of 1 or more"),
        ({"seq": True}, "seq is True; it must be a whole number of 1 or more"),
        ({"micro_batch": 1.5}, "micro_batch is 1.5; it must be a whole number of 1 or more"),
    ],
)
def test_wrong_arguments_are_refused_before_torch_is_asked_for(no_torch: None, given: dict[str, Any], says: str) -> None:
    with pytest.raises(pl.InputError) as caught:
        pt.model("config.json", **given)
    assert caught.value.message == says


def test_without_torch_it_says_what_to_install(no_torch: None) -> None:
    with pytest.raises(ModuleNotFoundError) as caught:
        pt.model("config.json")
    assert "pip install torch, or pipeloom[torch]" in str(caught.value)


def test_the_command_ends_with_2_and_one_line(no_torch: None, capsys: pytest.CaptureFixture[str]) -> None:
    command = importlib.import_module("pipeloom.torch.model")
    assert command.main(["config.json", "--seq", "0"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == "error: seq is 0; it must be a whole number of 1 or more\n"


def test_the_module_may_be_called_like_the_function_whose_name_it_has() -> None:
    code = "import pipeloom.torch as pt; f = pt.model; import pipeloom.torch.model; pt.model('x', seq=0) if pt.model is not f else None"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.stderr.endswith("InputError: seq is 0; it must be a whole number of 1 or more\n")


def test_the_command_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-m", "pipeloom.torch.model", "--help"], check=True, capture_output=True, text=True, cwd=Path.home())
    assert "--micro-batch" in done.stdout
