// Pipeloom's core for pages, workers and node: configurations in, reports, pictures and plans out. See pipeloom.d.ts.

import createCore from './pipeloom-core.mjs';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The program's own sentence about a question that it refuses. */
export class PipeloomError extends Error {
  constructor(sentence, code) {
    super(sentence);
    this.name = 'PipeloomError';
    this.code = code;
  }
}

/** Exit codes of the program, docs/user-guide.md. */
const ANSWER_IS_NO = 1;
const BUG = 70;

function textOf(configuration) {
  return typeof configuration === 'string' ? configuration : JSON.stringify(configuration);
}

class Pipeloom {
  #core;

  constructor(core) {
    this.#core = core;
  }

  /** Answers as the program does: {code, text, warnings}. Throws where the module itself came to its end. */
  call(name, text, { file = 'configuration', ...options } = {}) {
    const core = this.#core;
    const given = [];
    const put = (value) => {
      const bytes = encoder.encode(value);
      const at = core._malloc(bytes.length + 1) >>> 0;
      if (at === 0) throw new PipeloomError('error: out of memory; take a smaller text', 3);
      given.push(at);
      core.HEAPU8.set(bytes, at);
      core.HEAPU8[at + bytes.length] = 0;
      return [at, bytes.length];
    };
    try {
      const [source, size] = put(text);
      const code = core._pl_call(put(name)[0], put(file)[0], source, size, put(JSON.stringify(options))[0]);
      return { code, text: this.#read('text'), warnings: this.#read('warnings').split('\n').filter(Boolean) };
    } catch (error) {
      if (error instanceof PipeloomError) throw error;
      throw new PipeloomError(`error: the module ended (${error.message}); load it anew`, BUG);
    } finally {
      core._pl_clear();
      for (const at of given) core._free(at);
    }
  }

  #read(part) {
    const at = this.#core[`_pl_${part}`]() >>> 0;
    return decoder.decode(this.#core.HEAPU8.subarray(at, at + (this.#core[`_pl_${part}_size`]() >>> 0)));
  }

  #answer(name, configuration, options) {
    const { code, text, warnings } = this.call(name, textOf(configuration), options);
    if (code > ANSWER_IS_NO) throw new PipeloomError(text, code);
    return { text, warnings };
  }

  #parsed(name, configuration, options) {
    return JSON.parse(this.#answer(name, configuration, options).text);
  }

  report(configuration, options) {
    return this.#answer('report', configuration, options).text;
  }
  simulate(configuration, options) {
    return this.#parsed('report', configuration, options);
  }
  convert(configuration, format, options) {
    return this.#answer('convert', configuration, { ...options, format }).text;
  }
  svg(configuration, options) {
    return this.convert(configuration, 'svg', options);
  }
  plan(configuration, options) {
    return this.#parsed('plan', configuration, options);
  }
  validate(configuration, options) {
    return this.#parsed('validate', configuration, options);
  }
  schedules() {
    return this.#parsed('schedules', '').schedules;
  }
  keep(file, text) {
    this.#answer('keep', text, { file });
  }
  get version() {
    return this.#parsed('version', '').version;
  }
  get heapBytes() {
    return this.#core.HEAPU8.length;
  }
}

/** The bytes of the module beside this file, under node, whose files are not fetched. */
async function bytesFromDisk() {
  const { readFile } = await import('node:fs/promises');
  return readFile(new URL('./pipeloom-core.wasm', import.meta.url));
}

/** Loads the module. `wasm`: its bytes, where they are not beside this file. */
export async function load({ wasm } = {}) {
  const isNode = typeof process === 'object' && process.versions?.node !== undefined && typeof window === 'undefined';
  const wasmBinary = wasm ?? (isNode ? await bytesFromDisk() : undefined);
  const core = await createCore(wasmBinary === undefined ? {} : { wasmBinary });
  return new Pipeloom(core);
}
