// The view without a link: the seed's seven figures, simulated here.

import { bytesText, timeText } from './figures.mjs';
import { readAll, MOST_TEXT, writeFragment } from './link.mjs';

export const EXAMPLES = ['1f1b', '1f1b-overlap', 'interleaved-1f1b', 'interleaved-1f1b-overlap', 'zb-h1', 'dualpipe', 'dualpipe-v'];

async function textOf(name) {
  const response = await fetch(new URL(`./examples/${name}.json`, import.meta.url));
  return new TextDecoder().decode(await readAll(response.body, MOST_TEXT));
}

function element(kind, properties, ...children) {
  const made = Object.assign(document.createElement(kind), properties);
  made.append(...children);
  return made;
}

async function card(name, core, dark) {
  const text = await textOf(name);
  const answer = await core.ask('draw', { text, picture: { width: 560, dark } });
  if (answer === undefined || answer.code > 1) return undefined;
  const { step, bubble, peak, unit } = answer.figures;
  const url = URL.createObjectURL(new Blob([answer.svg], { type: 'image/svg+xml' }));
  const picture = element('img', { src: url, alt: `timeline of ${name}` });
  picture.addEventListener('load', () => URL.revokeObjectURL(url), { once: true });
  const figures = `step ${timeText(step, unit)}, bubble ${(100 * bubble).toFixed(1)} %, peak ${bytesText(peak)}`;
  const line = element('div', { className: 'name' }, element('strong', { textContent: name }), element('span', { textContent: figures }));
  return element('li', {}, element('a', { href: await writeFragment(text) }, line, picture));
}

/** Fills the list, one example after another. */
export async function showExamples(list, core, dark) {
  const cards = [];
  for (const name of EXAMPLES) {
    const made = await card(name, core, dark);
    if (made === undefined) return;
    cards.push(made);
  }
  list.replaceChildren(...cards);
}
