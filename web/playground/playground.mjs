// The playground: a configuration as form and text, its picture and figures, what if, the fastest schedule that fits, and links.

import { Core } from './core.mjs';
import { NEUTRAL, isNeutral, textOf, treeOf, typed, valueAt, whatIf, withTimes, withValue } from './configuration.mjs';
import { LinkError, MOST_TEXT, decodedText, readAll, readFragment, writeFragment } from './link.mjs';
import { showExamples } from './welcome.mjs';
import { candidateRows, headline, numberRows, timeText } from './figures.mjs';

const at = (id) => document.getElementById(id);
const core = new Core();
const planner = new Core();
const dark = matchMedia('(prefers-color-scheme: dark)');

// Above this many ops the fastest schedule is looked for when somebody asks.
const MOST_PLANNED_OPS = 6000;
const PAUSE = 350;

const fields = { schedule: 'schedule', ranks: 'ranks', microbatches: 'microbatches', chunks: 'chunks', forward: 'costs.forward',
  backward: 'costs.backward', latency: 'costs.transfer.latency', limit: 'memory.limit_bytes' };
const sliders = { forward: 'by-forward', backward: 'by-backward', latency: 'by-latency', byRank: 'by-rank' };

/** The text under edit, the one that it is compared with, and what is known of both. */
const state = { text: '', compare: undefined, factors: { ...NEUTRAL }, figures: undefined, svg: undefined };
let schedules = [];
let planTimer;
let addressTimer;
// Of the newest edit: what an older one asks no longer counts.
let turns = 0;

function say(sentence) {
  at('sentence').hidden = !sentence;
  at('sentence').textContent = sentence ?? '';
  for (const figure of at('pictures').children) figure.classList.toggle('old', Boolean(sentence));
  at('numbers').classList.toggle('old', Boolean(sentence));
}

// Pictures

/** Puts a picture in its place once it is decoded, so that none flickers. SVG in an image runs and loads nothing, whatever names it shows. */
async function showPicture(place, svg, caption) {
  const picture = new Image();
  const url = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }));
  picture.src = url;
  picture.alt = caption;
  try {
    await picture.decode();
  } finally {
    URL.revokeObjectURL(url);
  }
  const figure = document.createElement('figure');
  figure.id = place;
  const text = document.createElement('figcaption');
  text.textContent = caption;
  figure.append(text, picture);
  const old = at(place);
  if (old) old.replaceWith(figure);
  else at('pictures').append(figure);
}

const widthOfPicture = () => Math.max(520, at('pictures').clientWidth - 2);

function question(text, isPictured = true) {
  const picture = { width: widthOfPicture(), idle_causes: true, dark: dark.matches };
  return isPictured ? { text, picture } : { text };
}

// Runs

const nameOf = (figures) => `${figures.schedule}, ${figures.config.ranks} ranks, ${figures.config.microbatches} microbatches`;

/** The figures and pictures of the text, of what if, and of the run that it is compared with. Undefined where a newer edit came first. */
async function answers(isCurrent) {
  const own = await core.ask('draw', question(state.text, isNeutral(state.factors)));
  if (own === undefined || !isCurrent()) return undefined;
  if (own.code > 1) return { refused: own.text };
  const out = { own };
  if (!isNeutral(state.factors)) {
    const changed = whatIf(treeOf(state.text) ?? {}, own.figures.config, state.factors);
    out.changed = await core.ask('draw', question(textOf(changed)));
    if (out.changed === undefined || !isCurrent()) return undefined;
    if (out.changed.code > 1) return { refused: out.changed.text };
  }
  if (state.compare !== undefined) {
    out.other = await core.ask('draw', question(state.compare));
    if (out.other === undefined || !isCurrent()) return undefined;
    if (out.other.code > 1) return { refused: `compared run: ${out.other.text}` };
  }
  return out;
}

async function draw() {
  const begin = performance.now();
  const turn = ++turns;
  clearTimeout(planTimer);
  const found = await answers(() => turn === turns);
  if (found === undefined) return;
  if (found.refused !== undefined) {
    at('advice').textContent = '';
    at('candidates').replaceChildren();
    return say(found.refused);
  }
  const shown = found.changed ?? found.own;
  await showPicture('picture', shown.svg, found.changed ? `${nameOf(shown.figures)}, what if` : nameOf(shown.figures));
  if (found.other) await showPicture('other-picture', found.other.svg, `compared with ${nameOf(found.other.figures)}`);
  else at('other-picture')?.remove();
  state.figures = found.own.figures;
  state.svg = shown.svg;
  say(found.own.code === 1 ? found.own.warnings.at(-1) : undefined);
  at('headline').textContent = headline(shown.figures);
  showNumbers(found);
  showRanks(found.own.figures.config.ranks);
  showFactors();
  performance.measure('edit', { start: begin });
  suggestLater();
}

function cell(kind, text, className) {
  const element = document.createElement(kind);
  element.textContent = text;
  if (className) element.className = className;
  return element;
}

function showNumbers({ own, changed, other }) {
  const runs = [['this run', own], ...(changed ? [['what if', changed]] : []), ...(other ? [['compared', other]] : [])];
  const head = document.createElement('tr');
  head.append(cell('th', ''), ...runs.map(([name]) => Object.assign(cell('th', name), { scope: 'col' })));
  at('numbers').tHead.replaceChildren(...(runs.length > 1 ? [head] : []));
  const rows = numberRows(runs.map(([, run]) => run.figures)).map(({ name, texts, judged }) => {
    const row = document.createElement('tr');
    row.append(Object.assign(cell('th', name), { scope: 'row' }), ...texts.map((text, i) => cell('td', text, judged[i])));
    return row;
  });
  at('numbers').tBodies[0].replaceChildren(...rows);
}

function showRanks(ranks) {
  const select = at('slow-rank');
  if (select.length === ranks) return;
  select.replaceChildren(...Array.from({ length: Math.min(ranks, 256) }, (_, rank) => new Option(rank, rank)));
  select.value = Math.min(state.factors.rank, ranks - 1);
}

// The fastest schedule that fits

function suggestLater() {
  clearTimeout(planTimer);
  if (planner.isBusy) planner.end();
  at('advice').textContent = '…';
  const isLarge = state.figures.ops > MOST_PLANNED_OPS;
  at('search').hidden = !isLarge;
  if (isLarge) {
    at('advice').textContent = 'This run is large: every schedule of it takes a while.';
    at('candidates').replaceChildren();
  } else {
    planTimer = setTimeout(suggest, PAUSE);
  }
}

async function suggest() {
  at('search').hidden = true;
  at('advice').textContent = 'Every schedule is simulated …';
  const answer = await planner.ask('plan', { text: state.text, options: { vary: 'schedule,chunks', budget: 0, top: 4 } });
  if (answer === undefined) return;
  const { advice, rows } = candidateRows(answer, state.figures);
  at('advice').textContent = advice;
  at('candidates').replaceChildren(...rows.map(({ name, text, schedule, chunks }) => {
    const row = document.createElement('li');
    const use = cell('button', 'Use');
    use.type = 'button';
    use.setAttribute('aria-label', `Use ${name}`);
    use.addEventListener('click', () => {
      let tree = withValue(treeOf(state.text) ?? {}, 'schedule', schedule);
      tree = withValue(tree, 'chunks', chunks === 1 ? undefined : chunks);
      edit(textOf(tree, state.text));
    });
    row.append(cell('span', name), cell('span', text), use);
    return row;
  }));
}

// Edits

/** Takes a text as the run's, and shows it in the form. */
function edit(text, { from } = {}) {
  state.text = text;
  if (from !== 'text') at('text').value = text;
  const tree = treeOf(text);
  for (const [id, path] of Object.entries(fields)) {
    const value = tree && valueAt(tree, path);
    const field = at(id);
    if (from === id) continue;
    if (id === 'schedule') showSchedule(value);
    else field.value = typeof value === 'object' && value !== null ? '' : value ?? '';
    field.disabled = tree === undefined || (typeof value === 'object' && value !== null);
  }
  clearTimeout(addressTimer);
  addressTimer = setTimeout(showAddress, PAUSE);
  return draw();
}

/** A name that is no row of the registry, such as an alias, is an option of its own. */
function showSchedule(name) {
  const select = at('schedule');
  select.querySelector('[data-other]')?.remove();
  if (typeof name === 'string' && !schedules.some((one) => one.name === name)) {
    const option = new Option(name, name);
    option.dataset.other = '';
    select.prepend(option);
  }
  select.value = name ?? '';
}

async function showAddress() {
  try {
    history.replaceState(null, '', await writeFragment(state.text, state.compare));
  } catch (error) {
    if (!(error instanceof LinkError)) throw error;
  }
}

function showFactors() {
  const unit = state.figures?.unit;
  at('by-forward-shown').textContent = `× ${state.factors.forward.toFixed(2)}`;
  at('by-backward-shown').textContent = `× ${state.factors.backward.toFixed(2)}`;
  at('by-latency-shown').textContent = `+ ${timeText(state.factors.latency, unit)}`;
  at('by-rank-shown').textContent = `× ${state.factors.byRank.toFixed(2)}`;
  at('reset').disabled = at('take').disabled = isNeutral(state.factors);
}

/** A latency slider of up to one forward. */
function readSliders() {
  const forward = valueAt(state.figures?.config ?? {}, 'costs.forward');
  const longest = typeof forward === 'number' ? forward : Array.isArray(forward) ? Math.max(...forward) : 1;
  for (const [name, id] of Object.entries(sliders)) state.factors[name] = Number(at(id).value) * (name === 'latency' ? longest : 1);
  state.factors.rank = Number(at('slow-rank').value);
  showFactors();
  draw();
}

function resetSliders() {
  state.factors = { ...NEUTRAL, rank: Number(at('slow-rank').value) };
  for (const [name, id] of Object.entries(sliders)) at(id).value = NEUTRAL[name];
  showFactors();
}

// Links

function download() {
  const url = URL.createObjectURL(new Blob([state.svg], { type: 'image/svg+xml' }));
  const link = Object.assign(document.createElement('a'), { href: url, download: `${state.figures.schedule}.svg` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

async function copyLink() {
  let address;
  try {
    address = location.href.split('#')[0] + await writeFragment(state.text, state.compare);
  } catch (error) {
    return say(error.message);
  }
  history.replaceState(null, '', address);
  try {
    await navigator.clipboard.writeText(address);
    at('copy').textContent = 'Copied';
    setTimeout(() => {
      at('copy').textContent = 'Copy link';
    }, 1500);
  } catch {
    at('link-shown').hidden = false;
    at('link-text').value = address;
    at('link-text').select();
  }
}

/** The text of a file beside the page. */
async function textBeside(path) {
  const url = new URL(path, location.href);
  const below = new URL('.', location.href);
  if (url.origin !== location.origin || !url.pathname.startsWith(below.pathname)) throw new LinkError('u= leads out of the folder of this page');
  const response = await fetch(url, { redirect: 'error' }).catch(() => undefined);
  if (!response?.ok) throw new LinkError(`there is no file '${path}' beside this page`);
  const bytes = await readAll(response.body, MOST_TEXT);
  if (bytes === undefined) throw new LinkError(`the file '${path}' has more than 1 MiB, the most that is read`);
  return decodedText(bytes, `the file '${path}'`);
}

function show(view) {
  at('welcome').hidden = view !== 'welcome';
  at('run').hidden = view !== 'run';
  for (const id of ['copy', 'download', 'compare']) at(id).hidden = view !== 'run';
}

async function open() {
  say(undefined);
  at('link-shown').hidden = true;
  if (location.hash.length <= 1) {
    show('welcome');
    at('headline').textContent = 'Pipeline schedules, simulated in this page. Nothing is sent anywhere.';
    return showExamples(at('examples'), core, dark.matches);
  }
  try {
    const link = await readFragment(location.hash);
    const text = link.config ?? await textBeside(link.file);
    const tree = treeOf(text);
    state.compare = link.compare;
    at('compare').textContent = link.compare === undefined ? 'Compare from here' : 'Stop comparing';
    resetSliders();
    show('run');
    // A link's text has no blanks: people read it with them. Numbers that JavaScript cannot hold stay as they are written.
    const pretty = tree && textOf(tree);
    await edit(text.includes('\n') || pretty === undefined || /\d{16}/.test(text) ? text : pretty);
  } catch (error) {
    if (!(error instanceof LinkError)) throw error;
    show(state.text === '' ? 'none' : 'run');
    say(error.message);
  }
}

function listen() {
  at('text').addEventListener('input', () => edit(at('text').value, { from: 'text' }));
  for (const [id, path] of Object.entries(fields))
    at(id).addEventListener('input', () => {
      let tree = treeOf(state.text);
      if (tree && path.startsWith('costs.') && id !== 'latency' && state.figures) tree = withTimes(tree, state.figures.config);
      if (tree) edit(textOf(withValue(tree, path, id === 'schedule' ? at(id).value : typed(at(id).value)), state.text), { from: id });
    });
  at('form').addEventListener('submit', (event) => event.preventDefault());
  for (const id of [...Object.values(sliders), 'slow-rank']) at(id).addEventListener('input', readSliders);
  at('reset').addEventListener('click', () => {
    resetSliders();
    draw();
  });
  at('take').addEventListener('click', () => {
    const text = textOf(whatIf(treeOf(state.text) ?? {}, state.figures.config, state.factors), state.text);
    resetSliders();
    edit(text);
  });
  at('compare').addEventListener('click', () => {
    state.compare = state.compare === undefined ? state.text : undefined;
    at('compare').textContent = state.compare === undefined ? 'Compare from here' : 'Stop comparing';
    edit(state.text);
  });
  at('search').addEventListener('click', suggest);
  at('copy').addEventListener('click', copyLink);
  at('download').addEventListener('click', download);
  at('home').addEventListener('click', (event) => {
    event.preventDefault();
    history.pushState(null, '', location.pathname + location.search);
    open();
  });
  addEventListener('hashchange', open);
  dark.addEventListener('change', open);
  let width = innerWidth;
  addEventListener('resize', () => {
    if (innerWidth === width || at('run').hidden) return;
    width = innerWidth;
    draw();
  });
}

async function start() {
  listen();
  const opened = open();
  await opened;
  schedules = (await core.ask('schedules', {}))?.schedules ?? [];
  at('schedule').append(...schedules.map(({ name, summary }) => Object.assign(new Option(name, name), { title: summary })));
  if (!at('run').hidden) showSchedule(valueAt(treeOf(state.text) ?? {}, 'schedule'));
}

start();
