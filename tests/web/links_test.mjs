// Links through the page's codec: round trips, and 10,000 links that were changed, each of which is a text or one sentence, in bounded memory.
//
//   node tests/web/links_test.mjs SITE [LINKS]

import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { deflateRawSync } from 'node:zlib';

const [site, count = '10000'] = process.argv.slice(2);
const from = (name) => import(pathToFileURL(path.resolve(site, name)));
const { LinkError, MOST_TEXT, MOST_VALUE, compactJson, decodeValue, encodeValue, pathBelowPage, readFragment, writeFragment } = await from('link.mjs');
const { load } = await from('pipeloom.mjs');

let checks = 0;
const failures = [];
function check(holds, what) {
  ++checks;
  if (!holds) failures.push(what);
}
/** The sentence of a refusal; undefined where the link opens. */
async function refusal(work) {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (!(error instanceof LinkError)) throw error;
    return error.message;
  }
}
const isSentence = (text) => typeof text === 'string' && text.length > 10 && text.length < 400 && !/[\p{Cc}]/u.test(text);

const run = '{"schedule":"1f1b","ranks":4,"microbatches":8,"costs":{"forward":1.50,"backward":2}}';
const spaced = '// A comment "with quotes"\n{ "schedule": "1f1b", /* so \n many */ "ranks": 4,\n "microbatches": 8, "costs": {"forward": 1.50, "backward": 2} }\n';

// Round trips: numbers as written, comments and blanks gone, text in strings untouched.
check(compactJson(spaced) === run, `compact: ${compactJson(spaced)}`);
const value = await encodeValue(spaced);
check(/^1\.[A-Za-z0-9_-]+$/.test(value), `value: ${value}`);
check(await decodeValue(value) === run, 'round trip');
const strange = '{"schedule":"1f1b // no \\" /* comment */","x":"\u00e4\u{1F600} <b>&amp;</b>"}';
check(await decodeValue(await encodeValue(strange)) === strange, 'round trip of strings with marks of comments');
const both = await readFragment(await writeFragment(run, strange));
check(both.config === run && both.compare === strange, 'two configurations');
// As another implementation packs it: the same text comes out.
const packed = (text) => `1.${deflateRawSync(text, { level: 1 }).toString('base64url')}`;
check(await decodeValue(packed(run)) === run, 'packed by another');

// Hostile links by kind, each with words of its refusal.
const bomb = deflateRawSync(Buffer.alloc(20 << 20, 0x20), { level: 9 }).toString('base64url');
const padded = `{"a":"${'x'.repeat(MOST_TEXT)}"}`;
const kinds = [
  [`#c=${value.slice(0, value.length / 2)}`, 'cut or damaged'],
  [`#c=${value.slice(0, 3)}`, 'cut or damaged|ends too early'],
  ['#c=', 'begins with no version'],
  [`#c=${value.slice(2)}`, 'begins with no version'],
  [`#c=2${value.slice(1)}`, 'this link is of version 2; this page reads version 1'],
  [`#c=1.${'A'.repeat(MOST_VALUE)}`, 'at most 32768 are read'],
  [`#c=1.${bomb}`, 'more than 1 MiB'],
  [`#c=${packed(padded)}`, 'more than 1 MiB'],
  [`#c=${value}%3Cscript%3E`, 'no digit of base64url'],
  [`#c=${packed('\u0000\u0001')}`, 'holds no configuration'],
  [`#c=1.${deflateRawSync(Buffer.from([0x7b, 0xff, 0x7d])).toString('base64url')}`, 'no text'],
  [`#c=${packed('[1,2]')}`, 'holds no configuration'],
  [`#c=${value}&c=${value}`, 'there twice'],
  [`#c=${value}&u=run.json`, 'each says the run'],
  [`#compare=${value}`, 'no c='],
  ['#__proto__=1', 'unknown parameter'],
  ['#u=https%3A%2F%2Fexample.org%2Frun.json', 'no path of a file beside the page'],
  ['#u=//example.org/run.json', 'no path of a file beside the page'],
  ['#u=../secret.json', 'no path of a file beside the page'],
  ['#u=%2e%2e/secret.json', 'no path of a file beside the page'],
  ['#u=a\\b.json', 'no path of a file beside the page'],
  ['#u=%E0%A4%A', 'no path of a file beside the page'],
  ['#u=javascript:alert(1)', 'no path of a file beside the page'],
];
for (const [fragment, words] of kinds) {
  const sentence = await refusal(() => readFragment(fragment));
  check(isSentence(sentence) && new RegExp(words).test(sentence), `${fragment.slice(0, 60)}: ${sentence}`);
}
// Bytes after the end are damage in browsers; node 20 passes over them, and the text is the same.
const after = await refusal(async () => check(await decodeValue(`${value}AAAA`) === run, 'bytes after the end change the text'));
check(after === undefined || /cut or damaged/.test(after), `bytes after the end: ${after}`);
check(pathBelowPage('runs/a%20b.json') === 'runs/a b.json', 'a path below the page');
const noise = Array.from({ length: 60000 }, (_, i) => `"${(i * 2654435761 % 4294967296).toString(36)}":${i}`).join(',');
check(/longer than links are/.test(await refusal(() => encodeValue(`{${noise}}`))), 'a long configuration is no link');

// Changed links: the same numbers in every run (xorshift).
let seed = 88172645;
const below = (n) => {
  seed ^= seed << 13;
  seed ^= seed >>> 17;
  seed ^= seed << 5;
  return (seed >>> 0) % n;
};
const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=&%#+/\u00e9\u0000';
function changed(text) {
  let out = text;
  for (let i = 1 + below(3); i > 0; --i) {
    const at = below(out.length + 1);
    const kind = below(6);
    const digit = digits[below(digits.length)];
    if (kind === 0) out = out.slice(0, at);
    else if (kind === 1) out = out.slice(0, at) + digit + out.slice(at);
    else if (kind === 2) out = out.slice(0, at) + out.slice(at + 1 + below(4));
    else if (kind === 3) out = out + out.slice(at);
    else if (kind === 4) out = out.slice(0, at) + digit.repeat(1 + below(200)) + out.slice(at);
    else out = out.slice(0, at) + digit + out.slice(at + 1);
  }
  return out;
}

const pipeloom = await load();
const originals = [`#c=${value}`, await writeFragment(run, strange), `#c=1.${bomb.slice(0, 9000)}`, '#u=runs/a.json', `#c=${packed(spaced)}`];
const warm = async (n) => {
  const seen = { equal: 0, other: 0, sentences: 0, refused: 0 };
  for (let i = 0; i < n; ++i) {
    const fragment = changed(originals[i % originals.length]);
    let link;
    const sentence = await refusal(async () => {
      link = await readFragment(fragment);
    });
    if (sentence !== undefined) {
      check(isSentence(sentence), `${JSON.stringify(fragment.slice(0, 80))}: ${sentence}`);
      ++seen.sentences;
      continue;
    }
    const text = link.config;
    if (text === undefined || text === run || text === spaced || text === strange) {
      ++seen.equal;
      continue;
    }
    // Deflate has no sum, so a change may give another text, which the reader of configurations takes or refuses in a sentence. A run of it is
    // bounded by the most memory that is allowed.
    ++seen.other;
    const answer = pipeloom.call('validate', text);
    check(answer.code <= 3 && (answer.code < 2 || isSentence(answer.text)), `${text.slice(0, 200)}: ${answer.code} ${answer.text.slice(0, 200)}`);
    if (answer.code >= 2) ++seen.refused;
  }
  return seen;
};
await warm(500);
globalThis.gc?.();
const before = process.memoryUsage().rss;
const seen = await warm(Number(count));
const grown = (process.memoryUsage().rss - before) / (1 << 20);
check(grown < 200, `memory grew by ${grown.toFixed(0)} MiB`);
check(seen.sentences > Number(count) / 2, `only ${seen.sentences} sentences`);

console.log(`${kinds.length} kinds of hostile links; of ${count} changed links ${seen.sentences} are refused in a sentence, ${seen.equal} are the same text, ` +
  `${seen.other} another (${seen.refused} of them refused by the core); memory grew by ${grown.toFixed(0)} MiB; ${checks} checks, ${failures.length} failed`);
for (const failure of failures.slice(0, 30)) console.error(`FAILED: ${failure}`);
process.exitCode = failures.length === 0 ? 0 : 1;
