"""Links: a run as an address and back, and the server of the page."""

import subprocess
import sys
from pathlib import Path

import pytest

import pipeloom as pl
from pipeloom import play

ROOT = Path(__file__).resolve().parents[2]


def test_a_link_is_the_run() -> None:
    run = pl.simulate("zb-h1", ranks=4, microbatches=8, costs={"forward": 1.5, "backward_input": 1, "backward_weight": 1})
    link = run.link()
    assert link.startswith("http://127.0.0.1:8917/#c=1.")
    assert pl.simulate(link).to_bytes("json") == run.to_bytes("json")
    assert pl.simulate(link).report == run.report
    config = pl.from_link(link)
    assert config == {"schedule": "zb-h1", "ranks": 4, "microbatches": 8, "costs": {"forward": 1.5, "backward_input": 1, "backward_weight": 1}}
    assert pl.simulate({**config, "microbatches": 16}).microbatches == 16
    # 1.5 a forward, 2 a backward: what is on top of a link outranks it.
    assert pl.simulate(link, costs={"forward": 1}).report != run.report


def test_two_runs_and_another_page() -> None:
    one, two = (pl.simulate(name, ranks=4, microbatches=8) for name in ("1f1b", "zb-h1"))
    link = one.link(two, base="https://example.org/p/")
    assert link.startswith("https://example.org/p/#c=1.") and "&compare=1." in link
    assert pl.from_link(link).schedule == "1f1b" and pl.from_link(link, compare=True).schedule == "zb-h1"
    assert one.link(base="").startswith("#c=1.")
    with pytest.raises(pl.InputError, match="no second configuration"):
        pl.from_link(one.link(), compare=True)


def test_a_schedule_by_hand_has_no_link() -> None:
    with pytest.raises(pl.InputError, match="a link holds a configuration"):
        pl.simulate(pl.Schedule([["0F0", "0B0"], ["1F0", "1B0"]])).link()


@pytest.mark.parametrize(("link", "said"), [
    ("#c=2.AAAA", "version 2"), ("#c=1.AA", "ends too early"), ("#u=run.json", "beside"), ("#u=../run.json", "no path of a file"),
    ("https://example.org/", "has no run after"), ("#c=1.BAD=", "no digit of base64url"),
])
def test_a_refusal_is_an_input_error(link: str, said: str) -> None:
    for take in (pl.from_link, pl.simulate):
        with pytest.raises(pl.InputError, match=said):
            take(link)


def test_a_link_does_not_decide_which_files_are_read(tmp_path: Path) -> None:
    link = pl.simulate("1f1b", ranks=2, microbatches=2).link()
    table = tmp_path / "table.csv"
    table.write_text("kind,time\nF,1\n")
    config = {**pl.from_link(link), "costs": {"table": str(table)}}
    with pytest.raises(pl.InputError, match="a link holds no files"):
        pl.simulate(config).link()


def test_without_a_page_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert play.main(["--site", str(tmp_path), "--no-browser"]) == 2
    said = capsys.readouterr()
    assert said.out == "" and len(said.err.splitlines()) == 1 and "holds no index.html" in said.err


def test_what_it_serves() -> None:
    done = subprocess.run([sys.executable, "-B", ROOT / "tests/cli/serve.py", "--play", sys.executable], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
