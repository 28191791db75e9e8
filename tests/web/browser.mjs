// A headless Chromium over its debugging port, and a folder served on loopback, for tests of pages. Node 20 needs --experimental-websocket.

import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const TYPES = { html: 'text/html', mjs: 'text/javascript', css: 'text/css', json: 'application/json', wasm: 'application/wasm' };

/** Milliseconds until what does not come is a failure. */
const PATIENCE = 20000;

/** {origin, close} of a server of the files in `folder`, as any static host serves them. */
export async function serve(folder) {
  const server = createServer((request, response) => {
    const name = decodeURIComponent(new URL(request.url, 'http://host').pathname);
    try {
      const body = readFileSync(path.join(folder, name.endsWith('/') ? `${name}index.html` : name));
      response.writeHead(200, { 'Content-Type': TYPES[name.split('.').at(-1)] ?? (name.endsWith('/') ? 'text/html' : 'text/plain') });
      response.end(body);
    } catch {
      response.writeHead(404);
      response.end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { origin: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** One page: commands of the protocol, its console, its violations and its requests. */
export class Page {
  constructor(socket) {
    this.socket = socket;
    this.count = 0;
    this.waiting = new Map();
    this.console = [];
    this.requests = [];
    socket.addEventListener('message', ({ data }) => this.#take(JSON.parse(data)));
  }

  #take({ id, result, error, method, params }) {
    if (id !== undefined) {
      const { resolve, reject } = this.waiting.get(id);
      this.waiting.delete(id);
      return error ? reject(new Error(error.message)) : resolve(result);
    }
    if (method === 'Runtime.consoleAPICalled') this.console.push(params.args.map((one) => one.value ?? one.description).join(' '));
    if (method === 'Runtime.exceptionThrown') this.console.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    if (method === 'Log.entryAdded') this.console.push(`${params.entry.source}: ${params.entry.text} ${params.entry.url ?? ''}`);
    if (method === 'Network.requestWillBeSent') this.requests.push(params.request.url);
    return undefined;
  }

  send(method, params = {}) {
    const id = ++this.count;
    this.socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`no answer to ${method} ${JSON.stringify(params).slice(0, 300)}`)), PATIENCE);
      const then = (settle) => (value) => {
        clearTimeout(late);
        settle(value);
      };
      this.waiting.set(id, { resolve: then(resolve), reject: then(reject) });
    });
  }

  async run(expression) {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true, allowUnsafeEvalBlockedByCSP: false });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Waits until the expression is true. */
  async until(expression, what = expression) {
    for (const end = Date.now() + PATIENCE; Date.now() < end; await pause(20))
      if (await this.run(expression).catch(() => false)) return;
    throw new Error(`never came: ${what}; the page says: ${await this.run('document.body.innerText')}`);
  }

  async open(url) {
    await this.send('Page.navigate', { url: 'about:blank' });
    await this.send('Page.navigate', { url });
  }

  async screenshot(file) {
    const { writeFileSync } = await import('node:fs');
    const { data } = await this.send('Page.captureScreenshot', { format: 'png' });
    writeFileSync(file, Buffer.from(data, 'base64'));
  }
}

/** {page, close} of a browser; undefined where there is none. */
export async function startChromium(program) {
  const profile = mkdtempSync(path.join(tmpdir(), 'pipeloom-browser-'));
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars', '--remote-debugging-port=0',
    '--window-size=1280,800', '--force-device-scale-factor=1', `--user-data-dir=${profile}`, 'about:blank'];
  const child = spawn(program, flags, { stdio: ['ignore', 'ignore', 'pipe'] });
  const port = await new Promise((resolve, reject) => {
    let said = '';
    child.stderr.on('data', (data) => {
      said += data;
      const found = said.match(/DevTools listening on ws:\/\/127\.0\.0\.1:(\d+)/);
      if (found) resolve(Number(found[1]));
    });
    child.on('error', reject);
    child.on('exit', () => reject(new Error(`${program} ended: ${said.slice(-500)}`)));
  });
  const targets = await (await fetch(`http://127.0.0.1:${port}/json`)).json();
  const socket = new WebSocket(targets.find(({ type }) => type === 'page').webSocketDebuggerUrl);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', reject);
  });
  const page = new Page(socket);
  for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await page.send(`${domain}.enable`);
  const close = async () => {
    socket.close();
    child.removeAllListeners('exit');
    const ended = new Promise((resolve) => child.on('exit', resolve));
    child.kill();
    await ended;
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  return { page, close };
}
