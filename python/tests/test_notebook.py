"""What a notebook shows."""

import base64
import html
import re
import xml.etree.ElementTree as ElementTree

import matplotlib
import pytest

import pipeloom as pl

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def run() -> pl.Run:
    return pl.simulate("zbv", ranks=4, microbatches=8)


def test_a_run_is_its_picture(run: pl.Run) -> None:
    svg = run._repr_svg_()
    assert svg is not None and ElementTree.fromstring(svg).tag.endswith("svg")
    shown = run._repr_html_()
    assert html.escape(repr(run)) in shown
    # As an image: JupyterLab takes tags of svg out of notebooks that it does not trust.
    assert base64.b64decode(re.search('data:image/svg.xml;base64,([^"]*)"', shown)[1]).decode() == svg  # type: ignore[index]
    assert "<svg" not in shown and "<script" not in shown


def test_a_large_run_is_a_picture_that_does_not_grow() -> None:
    large = pl.simulate("zbv", ranks=32, microbatches=256)
    assert large._repr_svg_() is None
    shown = large._repr_html_()
    assert "data:image/png;base64," in shown
    assert len(shown) < 1_000_000


def test_view_is_offline(run: pl.Run) -> None:
    page = run.page()
    assert "<script" in page
    # Nothing is loaded: addresses elsewhere are anchors, which wait for a click.
    assert set(re.findall(r"""<(\w+)[^<>]*\s(?:src|href)=["']https?:""", page)) <= {"a"}
    shown = run.view(height=300).data
    assert "srcdoc=" in shown and "height:300px" in shown
    inside = html.unescape(re.search('srcdoc="([^"]*)"', shown)[1])  # type: ignore[index]
    # All of the page, the timeline first.
    assert len(inside) == len(page)
    assert inside.index('id="timeline"') < inside.index("<h1")


def test_comparison_stands_side_by_side(run: pl.Run) -> None:
    shown = pl.compare(run, pl.simulate("1f1b", ranks=4, microbatches=8))._repr_html_()
    assert shown.count("<img") == 2
    # 1f1b: 11 (F + B) = 33. zbv's stages are two to a rank here: 8 microbatches of 2 (F + I + W), and p - 1 = 3 in front.
    assert "<td>makespan</td><td>51</td><td>33</td><td>-35.3 %</td>" in shown
    assert "mfu" not in shown


def test_plans_and_sweeps_are_tables() -> None:
    plan = pl.plan({"schedule": "1f1b", "ranks": 4, "microbatches": 8}, budget=0.1)
    shown = plan._repr_html_()
    assert shown.count("<tr>") == 1 + len(plan.candidates)
    # The headline of the program: against 1f1b, (8 + 3) x 3 = 33: the best takes 24.75.
    assert "less than 1f1b now" in shown and "<td>-25.0 %</td>" in shown
    sweep = pl.sweep({"base": {"ranks": 4, "microbatches": 8}, "axes": {"schedule": ["1f1b", "gpipe"]}})
    assert sweep._repr_html_().count("<tr>") == 3


def test_axes(run: pl.Run) -> None:
    import matplotlib.pyplot

    figure, (top, bottom) = matplotlib.pyplot.subplots(2, 1)
    assert run.plot(top) is top
    assert sum(len(group) for group in top.containers) == run.num_ops
    assert [text.get_text() for text in top.get_legend().get_texts()] == ["F", "I", "W"]
    assert run.plot_memory(bottom, ranks=[0, 3]) is bottom
    assert len(bottom.lines) == 2
    assert max(bottom.lines[0].get_ydata()) == run.ranks[0].peak_activation_bytes
    matplotlib.pyplot.close(figure)
