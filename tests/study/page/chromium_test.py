#!/usr/bin/env python3
"""Pages of `pipeloom report` in headless Chromium, opened from disk.

What a parser cannot tell: that the content security policy lets our own script and style in and nothing else, that the script
runs without an error, that zoom, keys and sorting do what they say, that the page is whole without any script, and that the
dark theme is one. Needs a chromium on PATH; without one the test is skipped (77).
"""

import argparse
import html
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BROWSERS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]


def browser():
    named = os.environ.get("PIPELOOM_CHROMIUM")
    return named or next((found for found in map(shutil.which, BROWSERS) if found), None)


class Chromium:
    def __init__(self, program, folder):
        self.program = program
        self.folder = Path(folder)

    def run(self, page, *flags):
        """(standard output, console messages) of one visit to `page`."""
        with tempfile.TemporaryDirectory(dir=self.folder) as profile:
            command = [self.program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                       "--enable-logging=stderr", "--log-level=0", "--disable-dev-shm-usage",
                       "--force-device-scale-factor=1", f"--user-data-dir={profile}", "--virtual-time-budget=4000",
                       *flags, page.as_uri()]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        console = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
        if done.returncode != 0:
            raise RuntimeError(f"{self.program} ended with {done.returncode}:\n{done.stderr[-2000:]}")
        return done.stdout, console

    def dom(self, page, *flags):
        return self.run(page, "--dump-dom", *flags)

    def picture(self, page, name, *flags, size="1000,720"):
        out = self.folder / name
        _, console = self.run(page, f"--screenshot={out}", f"--window-size={size}", *flags)
        return Picture(out), console


class Picture:
    """Pixels of a PNG of 8 bits per channel, which is what browsers write."""

    def __init__(self, path):
        data = path.read_bytes()
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        at, packed = 8, b""
        while at < len(data):
            (length,) = struct.unpack(">I", data[at:at + 4])
            kind, chunk = data[at + 4:at + 8], data[at + 8:at + 8 + length]
            if kind == b"IHDR":
                self.width, self.height, depth, colour = struct.unpack(">IIBB", chunk[:10])
                assert depth == 8 and colour in (2, 6), (depth, colour)
                self.channels = 3 if colour == 2 else 4
            elif kind == b"IDAT":
                packed += chunk
            at += 12 + length
        self.rows = list(self.unfiltered(zlib.decompress(packed)))

    def unfiltered(self, raw):
        n, stride = self.channels, self.width * self.channels
        before = bytearray(stride)
        for y in range(self.height):
            kind = raw[y * (stride + 1)]
            row = bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
            for i in range(stride):
                left = row[i - n] if i >= n else 0
                up, corner = before[i], before[i - n] if i >= n else 0
                if kind == 1:
                    row[i] = (row[i] + left) & 255
                elif kind == 2:
                    row[i] = (row[i] + up) & 255
                elif kind == 3:
                    row[i] = (row[i] + (left + up) // 2) & 255
                elif kind == 4:
                    guess = left + up - corner
                    best = min((left, up, corner), key=lambda one: abs(guess - one))
                    row[i] = (row[i] + best) & 255
            before = row
            yield bytes(row)

    def colour(self, x, y):
        return tuple(self.rows[y][x * self.channels:x * self.channels + 3])

    def count(self, colour):
        wanted = bytes(colour)
        return sum(row[i:i + 3] == wanted for row in self.rows for i in range(0, len(row), self.channels))


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def root_attribute(dom, name):
    tag = re.search(r"<html[^>]*>", dom).group()
    found = re.search(rf'{name}="([^"]*)"', tag)
    return html.unescape(found.group(1)) if found else None


def with_probe(page, script):
    """A copy of the page whose policy admits one more script: what a user would do by hand."""
    import base64
    import hashlib

    text = page.read_text()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    text = text.replace("script-src '", f"script-src 'sha256-{digest}' '", 1)
    copy = page.with_suffix(".probe.html")
    copy.write_text(text.replace("</body>", f"<script>{script}</script></body>"))
    return copy


class Tests:
    def __init__(self, chromium, program, folder, only=""):
        self.only = only
        self.chromium = chromium
        self.program = program
        self.folder = Path(folder)

    def report(self, name, *arguments):
        out = self.folder / name
        subprocess.run([self.program, "report", *arguments, "-o", str(out), "-q"], check=True, cwd=ROOT)
        return out

    def pages(self):
        yield self.report("run.html", "configs/seed/dualpipe.json")
        yield self.report("compare.html", "configs/seed/1f1b.json", "configs/seed/zb-h1.json")
        yield self.report("paths.html", "configs/seed/1f1b.json", "--microbatches", "2000")
        sweep = self.folder / "sweep.jsonl"
        if not sweep.exists():
            subprocess.run([self.program, "sweep", "configs/sweeps/schedules.json", "-o", str(sweep), "-q"], check=True,
                           cwd=ROOT)
        yield self.report("sweep.html", str(sweep))

    def test_scripts_run_without_a_word(self):
        for page in self.pages():
            dom, console = self.chromium.dom(page)
            expect(console == [], f"{page.name}: {console}")
            expect(root_attribute(dom, "data-script") == "ready", f"{page.name}: the script did not run")
            expect(root_attribute(dom, "data-error") is None, f"{page.name}: {root_attribute(dom, 'data-error')}")

    def test_policy_keeps_foreign_scripts_out(self):
        page = self.report("run.html", "configs/seed/1f1b.json", "--force")
        foreign = self.folder / "foreign.html"
        foreign.write_text(page.read_text().replace(
            "</body>", "<script>document.documentElement.dataset.foreign='ran'</script>"
            "<img src='x' onerror=\"document.documentElement.dataset.foreign='ran'\"/></body>"))
        dom, console = self.chromium.dom(foreign)
        expect(root_attribute(dom, "data-foreign") is None, "a script that the policy does not name has run")
        expect(any("Content Security Policy" in line for line in console), "the browser does not say that it refused")
        expect(root_attribute(dom, "data-script") == "ready", "our own script did not run beside it")

    def test_keys_zoom_all_linked_charts(self):
        page = self.report("linked.html", "configs/seed/1f1b.json", "configs/seed/zb-h1.json")
        probe = with_probe(page, """
          const charts = [...document.querySelectorAll('svg.zoom')];
          charts[0].focus();
          const focused = document.activeElement === charts[0];
          const press = key => charts[0].dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
          press('+'); press('ArrowRight');
          const views = () => charts.map(chart => chart.querySelector('svg.plot').getAttribute('viewBox'));
          const seen = views();
          const marks = charts[0].querySelectorAll('g.axis text').length;
          const numbers = charts[0].querySelectorAll('g.numbers text').length;
          press('0');
          document.documentElement.dataset.probe = [focused, ...seen, marks > 2, numbers > 4, ...views()].join('|');""")
        dom, console = self.chromium.dom(probe)
        expect(console == [], console)
        words = root_attribute(dom, "data-probe").split("|")
        expect(words[0] == "true", "a chart cannot have the focus")
        # Zoomed by 0.6 about the middle, [0.2, 0.8], then to the right by a fifth of what is seen: [0.32, 0.92].
        for view in words[1:3]:
            x, _, width, _ = map(float, view.split())
            expect(abs(x - 320000) < 1 and abs(width - 600000) < 1, f"zoomed to {view}")
        expect(words[3:5] == ["true", "true"], "marks or numbers are missing after zooming")
        for view in words[5:7]:
            expect(list(map(float, view.split()))[:3] == [0, 0, 1000000], f"not all is shown again: {view}")

    def test_tables_sort_by_number(self):
        page = self.report("sort.html", "configs/seed/dualpipe.json", "--force")
        probe = with_probe(page, """
          const table = document.querySelector('#ranks table');
          const button = [...table.querySelectorAll('thead button')].find(one => one.textContent === 'rank');
          const order = () => [...table.tBodies[0].rows].map(row => row.cells[0].textContent).join(',');
          button.click(); const up = order();
          button.click(); const down = order();
          document.documentElement.dataset.probe = [up, down, button.parentNode.getAttribute('aria-sort')].join('|');""")
        dom, _ = self.chromium.dom(probe)
        expect(root_attribute(dom, "data-probe") == "0,1,2,3,4,5,6,7|7,6,5,4,3,2,1,0|descending",
               root_attribute(dom, "data-probe"))

    def test_hover_shows_the_op(self):
        page = self.report("hover.html", "configs/seed/1f1b.json")
        probe = with_probe(page, """
          const box = document.querySelector('rect[data-n]');
          box.dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX: 200, clientY: 200}));
          const shown = document.querySelector('#tip.on');
          const kept = box.querySelector('title').textContent;
          document.body.dispatchEvent(new PointerEvent('pointermove', {bubbles: true}));
          document.documentElement.dataset.probe = [shown && shown.textContent.split('\\n')[0], kept, box.querySelector('title').textContent !== ''].join('|');""")
        dom, console = self.chromium.dom(probe)
        expect(console == [], console)
        expect(root_attribute(dom, "data-probe") == "0F0: forward, rank 0, stage 0, microbatch 0||true",
               root_attribute(dom, "data-probe"))

    def test_whole_without_script(self):
        page = self.report("static.html", "configs/seed/1f1b.json")
        blue = (0x2F, 0x7F, 0xC4)  # forwards
        with_script, _ = self.chromium.picture(page, "with.png")
        static = self.folder / "noscript.html"
        static.write_text(re.sub(r"<script>.*</script>", "", page.read_text(), flags=re.S))
        without, console = self.chromium.picture(static, "without.png")
        expect(console == [], console)
        expect(without.count(blue) > 5000, "the timeline is missing without the script")
        expect(abs(without.count(blue) - with_script.count(blue)) < 50, "the timeline differs without the script")

    def test_dark_and_light(self):
        page = self.report("themes.html", "configs/seed/1f1b.json")
        light, _ = self.chromium.picture(page, "light.png", "--blink-settings=preferredColorScheme=1")
        dark, _ = self.chromium.picture(page, "dark.png", "--blink-settings=preferredColorScheme=0")
        expect(sum(light.colour(3, 3)) > 3 * 240, f"light ground is {light.colour(3, 3)}")
        expect(sum(dark.colour(3, 3)) < 3 * 40, f"dark ground is {dark.colour(3, 3)}")

    def test_nothing_is_wider_than_the_window(self):
        for page in self.pages():
            probe = with_probe(page, "document.documentElement.dataset.probe = "
                               "[document.documentElement.scrollWidth, innerWidth].join('|');")
            for width in (1280, 700, 500):
                dom, _ = self.chromium.dom(probe, f"--window-size={width},900")
                wide, window = map(int, root_attribute(dom, "data-probe").split("|"))
                expect(wide <= window, f"{page.name} at {width}: {wide} wide")

    def test_labels_of_charts_are_legible_on_a_phone(self):
        """Also that what does not fit can be reached: the box of a chart scrolls and says so."""
        for page in self.pages():
            # Windows are not made narrower than 500.
            probe = with_probe(page, """
              document.body.style.width = '390px';
              dispatchEvent(new Event('resize'));
              const sizes = [];
              for (const svg of document.querySelectorAll('figure svg:not(.plot)')) {
                const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
                for (const text of svg.querySelectorAll('text:not(.num)')) sizes.push(text.getAttribute('font-size') * scale);
              }
              const charts = [...document.querySelectorAll('figure > .scroll')];
              const wide = charts.filter(box => box.scrollWidth > box.clientWidth);
              document.documentElement.dataset.probe = [sizes.length > 5, Math.min(...sizes), wide.length > 0,
                wide.every(box => getComputedStyle(box).overflowX === 'auto' && box.matches('[data-wide]'))].join('|');""")
            dom, console = self.chromium.dom(probe, "--window-size=390,844")
            expect(console == [], console)
            some, least, wide, marked = root_attribute(dom, "data-probe").split("|")
            expect(some == "true", f"{page.name}: no texts in charts")
            expect(float(least) >= 10, f"{page.name}: a label is {least} pixels high")
            expect((wide, marked) == ("true", "true"), f"{page.name}: a chart that does not fit cannot be scrolled")

    def test_tables_show_the_answer(self):
        """Of a grid with more keys than fit: who it is and what was asked for are in sight at 1440, and stay where the table scrolls."""
        grid = self.folder / "wide.json"
        grid.write_text("""{"base": {"ranks": 4, "costs": {"time_unit": "ms", "rank_scale": [1, 1, 1, 1]},
                                     "memory": {"activation_bytes": 100000000}},
          "axes": {"schedule": ["1f1b", "zb-h1"], "costs.forward": [1, 1.5], "costs.backward_input": [1, 1.5],
                   "costs.backward_weight": [1, 1.5], "costs.transfer.latency": [0, 0.1], "costs.rank_scale.1": [1, 1.1],
                   "costs.rank_scale.2": [1, 1.1], "costs.rank_scale.3": [1, 1.1]},
          "derive": {"microbatches": "8*ranks", "costs.recompute": "costs.forward"}}""")
        sweep = self.folder / "wide.jsonl"
        subprocess.run([self.program, "sweep", str(grid), "-o", str(sweep), "-q", "--force"], check=True, cwd=ROOT)
        page = self.report("wide.html", str(sweep))
        probe = with_probe(page, """
          const box = document.querySelector('#sweep-best .scroll');
          const table = box.querySelector('table');
          const heads = [...table.tHead.rows[0].cells];
          const right = name => heads.find(one => one.textContent === name).getBoundingClientRect().right;
          const seen = ['schedule', 'makespan', 'peak_activation_bytes'].every(name => right(name) <= box.getBoundingClientRect().right);
          const cells = [...table.tBodies[0].rows[0].cells].slice(0, 2);
          box.style.width = '300px';
          box.scrollLeft = 400;
          const rest = cells.map(cell => Math.round(cell.getBoundingClientRect().left - box.getBoundingClientRect().left));
          document.documentElement.dataset.probe = [seen, box.scrollLeft, ...rest].join('|');""")
        dom, console = self.chromium.dom(probe, "--window-size=1440,900")
        expect(console == [], console)
        expect(root_attribute(dom, "data-probe") == "true|400|0|44", root_attribute(dom, "data-probe"))

    def test_prints_on_light_paper(self):
        page = self.report("print.html", "configs/seed/1f1b.json")
        out = self.folder / "print.pdf"
        self.chromium.run(page, f"--print-to-pdf={out}", "--no-pdf-header-footer",
                          "--blink-settings=preferredColorScheme=0")
        expect(out.stat().st_size > 5000, "the PDF is empty")
        if not shutil.which("pdftoppm"):
            return
        subprocess.run(["pdftoppm", "-r", "40", "-png", "-f", "1", "-l", "1", "-singlefile", str(out),
                        str(out.with_suffix(""))], check=True)
        paper = Picture(out.with_suffix(".png"))
        expect(paper.colour(2, 2) == (255, 255, 255), f"paper is {paper.colour(2, 2)}")

    def run(self):
        failed = 0
        for name in sorted(name for name in dir(self) if name.startswith("test_") and self.only in name):
            for old in self.folder.glob("*.html"):
                old.unlink()
            try:
                getattr(self, name)()
                print(f"ok      {name[5:]}")
            except Exception as error:  # every test has its say
                failed += 1
                print(f"FAILED  {name[5:]}: {error}")
        return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--only", default="", help="tests whose names hold this")
    options = parser.parse_args()
    found = browser()
    if not found:
        print("no chromium on PATH: skipped (scripts/install-deps.sh ci installs it)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        return 1 if Tests(Chromium(found, folder), os.path.abspath(options.program), folder, options.only).run() else 0


if __name__ == "__main__":
    sys.exit(main())
