// The module answers what the program answers, byte for byte: reports, pictures, plans, verdicts and refusals of every file in configs/.
//
//   node tests/web/equal_test.mjs PIPELOOM SITE [ROOT]     PIPELOOM: the native program; SITE: the folder with pipeloom.mjs and the module

import { execFile } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const [program, site, root = '.'] = process.argv.slice(2);
const { load, PipeloomError } = await import(pathToFileURL(path.resolve(site, 'pipeloom.mjs')));
const run = promisify(execFile);

// A picture of more ops is left out: minutes of text.
const MOST_OPS = 60000;
const PLANNED = ['seed/1f1b', 'seed/zb-h1', 'seed/interleaved-1f1b', 'seed/dualpipe', 'family/6.2b-1f1b', 'family/6.2b-zbv-shared-links', 'estimate/llama3-70b-h100-zbv',
  'showcase', 'paper/zero-bubble-6.2b-p8-m24-1f1b'];

let compared = 0;
const failures = [];

function check(holds, what) {
  ++compared;
  if (!holds) failures.push(what);
}

/** Where two texts differ first. */
function difference(a, b) {
  let at = 0;
  while (at < a.length && a[at] === b[at]) ++at;
  const from = Math.max(0, at - 30);
  return `at ${at}: native ${JSON.stringify(a.slice(from, at + 60))}, module ${JSON.stringify(b.slice(from, at + 60))}`;
}

/** What the native program prints, and how it ends. */
async function native(...words) {
  const options = { cwd: root, maxBuffer: 1 << 28, encoding: 'utf8' };
  try {
    const { stdout, stderr } = await run(path.resolve(program), words, options);
    return { code: 0, text: stdout, said: stderr };
  } catch (error) {
    if (typeof error.code !== 'number') throw error;
    return { code: error.code, text: error.stdout, said: error.stderr };
  }
}

/** The same question to both. Returns the native answer. */
async function same(module, what, words, name, text, options = {}) {
  const expected = await native(...words);
  const found = module.call(name, text, options);
  const refused = found.code > 1;
  const text_there = refused ? expected.said.trimEnd().split('\n').at(-1) : expected.text;
  const said = found.warnings.map((line) => line + '\n').join('') + (refused ? found.text + '\n' : '');
  check(found.code === expected.code, `${what}: native ends with ${expected.code}, the module with ${found.code}: ${found.text.slice(0, 200)}`);
  check(found.text === text_there, `${what}: ${difference(text_there, found.text)}`);
  check(refused || said === expected.said, `${what}, warnings: ${difference(expected.said, said)}`);
  return expected;
}

function filesBelow(folder) {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return filesBelow(name);
    return /\.(json|csv)$/.test(name) ? [name] : [];
  });
}

async function inParallel(items, work) {
  const left = [...items];
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
}

const files = filesBelow('configs').sort();
const texts = new Map(files.map((file) => [file, readFileSync(path.join(root, file), 'utf8')]));
const pipeloom = await load();
for (const [file, text] of texts) pipeloom.keep(file, text);

let reports = 0;
let pictures = 0;
let refusals = 0;
await inParallel(files, async (file) => {
  const text = texts.get(file);
  const report = await same(pipeloom, `report of ${file}`, ['simulate', file, '--json'], 'report', text, { file });
  if (report.code > 1) {
    ++refusals;
    return;
  }
  ++reports;
  await same(pipeloom, `verdict of ${file}`, ['validate', file, '--json'], 'validate', text, { file });
  if (JSON.parse(report.text).num_ops > MOST_OPS) return;
  ++pictures;
  await same(pipeloom, `picture of ${file}`, ['convert', file, '-', '--to', 'svg'], 'convert', text, { file, format: 'svg' });
  await same(pipeloom, `picture with causes of ${file}`, ['convert', file, '-', '--to', 'svg', '--idle-causes', '--critical-path', '--memory', '--theme', 'dark'],
    'convert', text, { file, format: 'svg', idle_causes: true, critical_path: true, memory: true, dark: true });
});
check(reports >= 80, `only ${reports} files of configs/ have a report`);
check(refusals >= 2, `only ${refusals} files of configs/ are refused`);

const planned = PLANNED.map((name) => `configs/${name}.json`).filter((file) => texts.has(file));
check(planned.length >= 6, `only ${planned.length} of the configurations to plan are there`);
for (const file of planned) {
  await same(pipeloom, `plan of ${file}`, ['plan', file, '--json', '-j', '1', '--budget', '0.3', '-q'], 'plan', texts.get(file),
    { file, budget: 0.3 });
}
await same(pipeloom, 'plan for a limit', ['plan', planned[0], '--json', '-j', '1', '--budget', '0', '--vary', 'schedule', '--limit', '4', '-q'],
  'plan', texts.get(planned[0]), { file: planned[0], budget: 0, vary: 'schedule', limit: '4' });

// Refusals in words that name what to do, where a build for pages lacks a package.
const example = texts.get('configs/seed/1f1b.json');
for (const format of ['png', 'pdf']) {
  const answer = pipeloom.call('convert', example, { format });
  check(answer.code === 2 && /^error: P(NG|DF) pictures .* take svg/.test(answer.text), `${format}: ${answer.text}`);
}

// More ops than a 32-bit table of stages and microbatches has places: refused, as where sizes have 64 bits.
const far = '0F0,4095F1048574\n0B0,4095B1048574\n';
const sentence = pipeloom.call('report', far, { file: 'far.csv' });
check(sentence.code === 2 && sentence.text.includes('4294963200 pairs'), `a far file: ${sentence.text}`);

// The face: objects in and out, and an exception with the program's sentence.
const object = { schedule: 'zbv', ranks: 4, microbatches: 8 };
check(pipeloom.simulate(object).config.schedule === 'zbv', 'simulate() of an object');
check(pipeloom.svg(object).startsWith('<svg') || pipeloom.svg(object).startsWith('<?xml'), 'svg() of an object');
check(pipeloom.schedules().some(({ name }) => name === '1f1b'), 'schedules()');
check(pipeloom.validate(object).legal === true, 'validate()');
check(/^\d+\.\d+\.\d+$/.test(pipeloom.version), 'version');
try {
  pipeloom.simulate({ ...object, ranks: -8 });
  check(false, 'a negative number of ranks is allowed');
} catch (error) {
  check(error instanceof PipeloomError && error.code === 2 && error.message.includes("ranks"), `refusal: ${error.message}`);
}

// Memory that a question takes comes back: neither answers nor refusals let the heap grow.
const fresh = await load();
const repeated = { schedule: 'zbv', ranks: 8, microbatches: 64 };
const ask = (i) => {
  fresh.report({ ...repeated, microbatches: 48 + i % 16 });
  fresh.svg(repeated, { idle_causes: true });
  fresh.call('report', `{"schedule": "1f1b", "ranks": ${-i}, "microbatches": 3}`);
};
for (let i = 0; i < 20; ++i) ask(i);
const before = fresh.heapBytes;
for (let i = 0; i < 500; ++i) ask(i);
check(fresh.heapBytes === before, `the heap grew from ${before} to ${fresh.heapBytes} bytes in 500 runs`);

console.log(`${reports} reports, ${pictures} times two pictures, ${planned.length} plans, ${refusals} refusals; heap ${before >> 20} MiB after 500 runs; ` +
  `${compared} checks, ${failures.length} failed`);
for (const failure of failures.slice(0, 40)) console.error(`FAILED: ${failure}`);
process.exitCode = failures.length === 0 ? 0 : 1;
