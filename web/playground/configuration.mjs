// Configurations under edit: text to tree and back, single values, and the tree with what-if factors on top.

import { compactJson } from './link.mjs';

/** The tree of a text; undefined where it is no JSON object. */
export function treeOf(text) {
  try {
    const tree = JSON.parse(compactJson(text));
    return typeof tree === 'object' && tree !== null && !Array.isArray(tree) ? tree : undefined;
  } catch {
    return undefined;
  }
}

/** Lines of comments before the first brace stay; other comments do not survive an edit in the form. */
function headOf(text) {
  return text.match(/^(?:\s*\/\/[^\n]*\n)*/)[0];
}

function spelt(value, indent) {
  const line = JSON.stringify(value, null, 1).replace(/\n\s*/g, ' ');
  const isNested = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isNested || line.length <= 72) return line.replace(/([{[]) /g, '$1').replace(/ ([}\]])/g, '$1');
  const inner = `${indent}  `;
  const members = Object.entries(value).map(([key, member]) => `${inner}${JSON.stringify(key)}: ${spelt(member, inner)}`);
  return `{\n${members.join(',\n')}\n${indent}}`;
}

/** The tree as people write it: a line for each key, small objects on one. */
export function textOf(tree, before = '') {
  const members = Object.entries(tree).map(([key, value]) => `  ${JSON.stringify(key)}: ${spelt(value, '  ')}`);
  return `${headOf(before)}{\n${members.join(',\n')}\n}\n`;
}

const isPlain = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value at "costs.forward", or undefined. */
export function valueAt(tree, path) {
  return path.split('.').reduce((value, key) => (isPlain(value) && Object.hasOwn(value, key) ? value[key] : undefined), tree);
}

/** A copy of the tree with another value there; undefined takes it away, with objects that nothing is left in. */
export function withValue(tree, path, value) {
  const [key, ...rest] = path.split('.');
  const copy = isPlain(tree) ? { ...tree } : {};
  const inner = rest.length === 0 ? value : withValue(copy[key], rest.join('.'), value);
  if (inner === undefined || (isPlain(inner) && Object.keys(inner).length === 0)) delete copy[key];
  else Object.defineProperty(copy, key, { value: inner, enumerable: true, configurable: true, writable: true });
  return copy;
}

/** A number where the text is one, else the text itself, which the core then refuses in words; undefined where it is blank. */
export function typed(text) {
  const plain = text.trim();
  if (plain === '') return undefined;
  const number = Number(plain);
  return Number.isFinite(number) ? number : plain;
}

/** Decimal digits that a factor leaves are noise. */
const rounded = (number) => Number(number.toPrecision(12));

/** Every number of a cost (a number, a list, a table by stage) times a factor. */
function scaled(cost, factor) {
  if (typeof cost === 'number') return rounded(cost * factor);
  if (Array.isArray(cost)) return cost.map((one) => scaled(one, factor));
  if (isPlain(cost)) return Object.fromEntries(Object.entries(cost).map(([key, one]) => [key, scaled(one, factor)]));
  return cost;
}

const COSTS = ['forward', 'backward', 'backward_input', 'backward_weight'].map((kind) => `costs.${kind}`);

/** The tree with the default times in it where it states none: a configuration states all of them or none. */
export function withTimes(tree, effective) {
  if (COSTS.some((path) => valueAt(tree, path) !== undefined) || valueAt(tree, 'costs.model') !== undefined) return tree;
  return COSTS.reduce((out, path) => withValue(out, path, valueAt(effective, path) ?? undefined), tree);
}

const KINDS = { forward: ['forward'], backward: ['backward', 'backward_input', 'backward_weight'] };

/** Factors that leave a run as it is. */
export const NEUTRAL = { forward: 1, backward: 1, latency: 0, rank: 0, byRank: 1 };
export const isNeutral = (factors) =>
  factors.forward === 1 && factors.backward === 1 && factors.latency === 0 && factors.byRank === 1;

/** The tree with the factors on top. `effective`: the configuration of its report, which spells defaults out. */
export function whatIf(tree, effective, factors) {
  let out = factors.forward === 1 && factors.backward === 1 ? tree : withTimes(tree, effective);
  const set = (path, value) => {
    out = withValue(out, path, value);
  };
  for (const [kind, keys] of Object.entries(KINDS)) {
    if (factors[kind] === 1) continue;
    for (const key of keys) {
      const cost = valueAt(tree, `costs.${key}`) ?? valueAt(effective, `costs.${key}`);
      if (cost !== undefined && cost !== null) set(`costs.${key}`, scaled(cost, factors[kind]));
    }
  }
  if (factors.latency > 0) {
    const latency = valueAt(effective, 'costs.transfer.latency');
    set('costs.transfer.latency', rounded((typeof latency === 'number' ? latency : 0) + factors.latency));
  }
  if (factors.byRank !== 1) {
    const given = valueAt(tree, 'costs.rank_scale');
    const ranks = Number(valueAt(effective, 'ranks'));
    const scale = Array.from({ length: ranks }, (_, rank) => (Array.isArray(given) ? given[rank] ?? 1 : 1));
    scale[factors.rank] = rounded(scale[factors.rank] * factors.byRank);
    set('costs.rank_scale', scale);
  }
  return out;
}
