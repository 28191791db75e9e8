#include "study/document/html.hpp"

namespace pipeloom::study::page {
namespace {

// Plain ECMAScript without modules: a file opened from disk has no origin to load any from. "]]>" must not occur.
constexpr std::string_view kScript = R"js(
'use strict';
(() => {
const root = document.documentElement;
const make = (name, attributes) => {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  return element;
};
const clamp = (value, least, most) => Math.min(Math.max(value, least), most);

// Hover texts: a shape's <title> beside the pointer, at once. The browser's own would come late and on top.
const tip = document.createElement('div');
tip.id = 'tip';
tip.setAttribute('role', 'presentation');
document.body.append(tip);
let held = null;
const release = () => {
  if (held) held.title.textContent = held.text;
  held = null;
  tip.classList.remove('on');
};
const showTip = (text, x, y) => {
  if (tip.textContent !== text) tip.textContent = text;
  tip.classList.add('on');
  const box = tip.getBoundingClientRect();
  const left = x + 14 + box.width < innerWidth ? x + 14 : x - 14 - box.width;
  const top = y + 16 + box.height < innerHeight ? y + 16 : y - 12 - box.height;
  tip.style.transform = `translate(${Math.max(4, left)}px,${Math.max(4, top)}px)`;
};
const titled = (element, chart) => {
  for (let at = element; at && at !== chart; at = at.parentNode) {
    for (const child of at.children) if (child.localName === 'title') return {element: at, title: child};
  }
  return null;
};
document.addEventListener('pointermove', event => {
  const chart = event.target.closest && event.target.closest('svg.zoom, svg.tips');
  const found = chart && titled(event.target, chart);
  if (!found) return release();
  if (!held || held.element !== found.element) {
    release();
    held = {element: found.element, title: found.title, text: found.title.textContent};
    held.title.textContent = '';
  }
  const zoomed = zooms.get(chart);
  const dense = found.element.closest('.dense');
  const time = dense && zoomed ? '\n' + zoomed.timeText(zoomed.timeAt(event.clientX)) : '';
  showTip(held.text + time, event.clientX, event.clientY);
});
document.addEventListener('pointerleave', release);
addEventListener('scroll', release, {passive: true});

// Charts over time.
const zooms = new Map();
const groups = new Map();
const nice = least => {
  const power = Math.pow(10, Math.floor(Math.log10(least)));
  for (const factor of [1, 2, 5]) if (power * factor >= least * (1 - 1e-9)) return power * factor;
  return power * 10;
};
class TimeChart {
  constructor(svg) {
    this.svg = svg;
    const data = svg.dataset;
    this.x = +data.x;
    this.width = +data.width;
    this.from = +data.from;
    this.to = +data.to;
    this.unit = data.unit;
    this.plots = [...svg.querySelectorAll('svg.plot')].map(plot => {
      const [left, top, width, height] = plot.getAttribute('viewBox').split(' ').map(Number);
      return {plot, left, top, width, height};
    });
    this.axis = svg.querySelector('g.axis');
    this.numbers = svg.querySelector('g.numbers');
    this.grid = svg.querySelector('g.grid');
    this.plotY = +data.y;
    this.plotHeight = +data.height;
    this.boxes = null;
    this.whole = {axis: this.axis.innerHTML, grid: this.grid.innerHTML, numbers: this.numbers && this.numbers.innerHTML};
    const link = data.link || '';
    this.group = groups.get(link) || {charts: [], start: 0, end: 1};
    this.group.charts.push(this);
    groups.set(link, this.group);
    this.listen();
  }
  fractionAt(clientX) {
    const box = this.svg.getBoundingClientRect();
    const inside = (clientX - box.left) / box.width * this.svg.viewBox.baseVal.width;
    return (inside - this.x) / this.width;
  }
  timeAt(clientX) {
    const part = clamp(this.fractionAt(clientX), 0, 1);
    const share = this.group.start + part * (this.group.end - this.group.start);
    return this.from + share * (this.to - this.from);
  }
  timeText(time) {
    const digits = clamp(3 - Math.floor(Math.log10(Math.max((this.to - this.from) * (this.group.end - this.group.start), 1e-12))), 0, 12);
    return `at ${time.toFixed(digits)} ${this.unit}`;
  }
  draw() {
    const {start, end} = this.group;
    for (const {plot, left, top, width, height} of this.plots)
      plot.setAttribute('viewBox', `${left + start * width} ${top} ${(end - start) * width} ${height}`);
    if (start === 0 && end === 1) {
      this.axis.innerHTML = this.whole.axis;
      this.grid.innerHTML = this.whole.grid;
      if (this.numbers) this.numbers.innerHTML = this.whole.numbers;
      return;
    }
    this.drawAxis();
    if (this.numbers) this.drawNumbers();
  }
  drawAxis() {
    const span = this.to - this.from;
    const first = this.from + this.group.start * span;
    const length = (this.group.end - this.group.start) * span;
    const step = nice(length * 90 / this.width);
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    this.axis.replaceChildren();
    this.grid.replaceChildren();
    const bottom = this.plotY + this.plotHeight;
    this.axis.append(make('path', {class: 'axis-line', d: `M${this.x} ${bottom + 2}h${this.width}`}));
    for (let i = Math.ceil(first / step - 1e-9); i * step <= first + length * (1 + 1e-9); ++i) {
      const x = this.x + (i * step - first) / length * this.width;
      this.grid.append(make('path', {class: 'grid-line', d: `M${x} ${this.plotY}v${this.plotHeight}`}));
      this.axis.append(make('path', {class: 'axis-line', d: `M${x} ${bottom + 2}v4`}));
      const text = make('text', {class: 'ink middle', x, y: bottom + 17, 'font-size': 11});
      text.textContent = (i * step).toFixed(digits);
      this.axis.append(text);
    }
  }
  collectBoxes() {
    const plot = this.plots[0];
    this.boxes = [...plot.plot.querySelectorAll('rect[data-n]')].map(rect => ({
      x: (+rect.getAttribute('x') - plot.left) / plot.width,
      width: +rect.getAttribute('width') / plot.width,
      y: plot.top + this.plotY + +rect.getAttribute('y'),
      height: +rect.getAttribute('height'),
      text: rect.dataset.n,
      colour: rect.classList[0]
    }));
  }
  drawNumbers() {
    if (!this.boxes) this.collectBoxes();
    this.numbers.replaceChildren();
    const {start, end} = this.group;
    const scale = this.width / (end - start);
    for (const box of this.boxes) {
      const left = (box.x - start) * scale;
      const width = box.width * scale;
      const size = Math.floor(2 * Math.min(11, box.height * .8, (width - 2) / (.62 * box.text.length))) / 2;
      const middle = left + width / 2;
      if (size < 6 || middle < 0 || middle > this.width) continue;
      const text = make('text', {class: 'num ' + box.colour, x: this.x + middle, y: box.y + box.height / 2 + .36 * size, 'font-size': size});
      text.textContent = box.text;
      this.numbers.append(text);
    }
  }
  show(start, end) {
    const length = clamp(end - start, 1 / 20000, 1);
    const from = clamp(start, 0, 1 - length);
    this.group.start = from;
    this.group.end = from + length;
    // At once: browsers send moves and wheels once a frame already.
    for (const chart of this.group.charts) chart.draw();
  }
  zoom(factor, at) {
    const {start, end} = this.group;
    const centre = start + at * (end - start);
    const length = Math.min(1, (end - start) * factor);
    this.show(centre - at * length, centre + (1 - at) * length);
  }
  pan(part) {
    const length = this.group.end - this.group.start;
    const start = clamp(this.group.start + part * length, 0, 1 - length);
    this.show(start, start + length);
  }
  act(what) {
    if (what === 'in') this.zoom(.6, .5);
    else if (what === 'out') this.zoom(1 / .6, .5);
    else if (what === 'all') this.show(0, 1);
    else if (what === 'left') this.pan(-.2);
    else if (what === 'right') this.pan(.2);
    else return false;
    return true;
  }
  listen() {
    const keys = {ArrowLeft: 'left', ArrowRight: 'right', ArrowUp: 'in', ArrowDown: 'out', '+': 'in', '=': 'in', '-': 'out', '0': 'all', Home: 'all'};
    this.svg.setAttribute('tabindex', '0');
    this.svg.addEventListener('keydown', event => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (keys[event.key] && this.act(keys[event.key])) event.preventDefault();
    });
    this.svg.addEventListener('wheel', event => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(Math.exp(clamp(event.deltaY, -120, 120) / 300), clamp(this.fractionAt(event.clientX), 0, 1));
    }, {passive: false});
    this.svg.addEventListener('dblclick', () => this.act('all'));
    this.svg.addEventListener('pointerdown', event => {
      if (event.button !== 0 || event.pointerType === 'touch') return;
      const range = {start: this.group.start, end: this.group.end, at: this.fractionAt(event.clientX)};
      const move = moved => {
        const by = (range.at - this.fractionAt(moved.clientX)) * (range.end - range.start);
        this.svg.classList.add('drags');
        this.show(clamp(range.start + by, 0, 1 - (range.end - range.start)), clamp(range.start + by, 0, 1 - (range.end - range.start)) + range.end - range.start);
      };
      const up = () => {
        this.svg.classList.remove('drags');
        removeEventListener('pointermove', move);
        removeEventListener('pointerup', up);
        removeEventListener('pointercancel', up);
      };
      addEventListener('pointermove', move);
      addEventListener('pointerup', up);
      addEventListener('pointercancel', up);
    });
    const tools = this.svg.closest('figure').querySelector('.tools');
    if (tools) tools.addEventListener('click', event => {
      const button = event.target.closest('button');
      if (button) this.act(button.dataset.do);
    });
  }
}

// Sorting: numbers by what they say, sizes in bytes.
const units = {B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40, PiB: 2 ** 50, EiB: 2 ** 60};
const keyOf = cell => {
  const text = cell.textContent.replace(/^[\u2713\u2717!]\s*/, '').trim();
  const match = /^([+\u2212-]?[\d,]*\.?\d+(?:e[+-]?\d+)?)\s*(\S*)/i.exec(text);
  if (!match) return text === '' || text === '-' ? -Infinity : text.toLowerCase();
  return parseFloat(match[1].replace(/,/g, '').replace('\u2212', '-')) * (units[match[2]] || 1);
};
const order = (a, b) => {
  if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
  return typeof a === 'number' ? -1 : 1;
};
const makeSortable = table => {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    if (head.localName !== 'th') return;
    const button = document.createElement('button');
    button.type = 'button';
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener('click', () => {
      const down = head.getAttribute('aria-sort') === 'ascending';
      for (const other of heads) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      const body = table.tBodies[0];
      const rows = [...body.rows].map((row, at) => ({row, at, key: keyOf(row.cells[column])}));
      rows.sort((a, b) => (down ? -order(a.key, b.key) : order(a.key, b.key)) || a.at - b.at);
      body.append(...rows.map(one => one.row));
    });
  });
};

// Boxes that hold more than they show say so.
const markWide = () => {
  for (const box of document.querySelectorAll('.scroll')) box.toggleAttribute('data-wide', box.scrollWidth > box.clientWidth + 1);
};
addEventListener('resize', markWide);
document.addEventListener('toggle', markWide, true);

// Paper has no folds.
addEventListener('beforeprint', () => {
  for (const folded of document.querySelectorAll('details:not([open])')) { folded.open = true; folded.dataset.opened = ''; }
});
addEventListener('afterprint', () => {
  for (const opened of document.querySelectorAll('details[data-opened]')) { opened.open = false; delete opened.dataset.opened; }
});

try {
  for (const svg of document.querySelectorAll('svg.zoom')) zooms.set(svg, new TimeChart(svg));
  for (const table of document.querySelectorAll('table.sort')) makeSortable(table);
  markWide();
  root.dataset.script = 'ready';
} catch (error) {
  root.dataset.error = String(error);
  throw error;
}
})();
)js";

}  // namespace

std::string_view script() {
  return kScript;
}

}  // namespace pipeloom::study::page
