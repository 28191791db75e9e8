// The core in a worker. Of questions that wait only the newest of a kind is asked; a plan ends with its worker.

export class Core {
  #worker;
  #busy;
  #waiting;
  #count = 0;

  /** Resolves to the answer, or to undefined where a newer question came first. */
  ask(kind, question) {
    return new Promise((resolve) => {
      this.#waiting?.resolve(undefined);
      this.#waiting = { id: ++this.#count, kind, question, resolve };
      this.#next();
    });
  }

  /** Ends the question that is being answered; the next one starts a worker anew. */
  end() {
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#busy?.resolve(undefined);
    this.#busy = undefined;
    this.#waiting?.resolve(undefined);
    this.#waiting = undefined;
  }

  get isBusy() {
    return this.#busy !== undefined;
  }

  #next() {
    if (this.#busy !== undefined || this.#waiting === undefined) return;
    this.#busy = this.#waiting;
    this.#waiting = undefined;
    this.#worker ??= this.#started();
    const { id, kind, question } = this.#busy;
    this.#worker.postMessage({ id, kind, question });
  }

  #started() {
    const worker = new Worker(new URL('./worker.mjs', import.meta.url), { type: 'module' });
    worker.addEventListener('message', ({ data }) => this.#take(data.answer));
    worker.addEventListener('error', (event) => {
      event.preventDefault();
      this.#take({ code: 70, text: `error: the core does not run here (${event.message || 'its files did not load'})`, ended: true });
    });
    return worker;
  }

  #take(answer) {
    const { resolve } = this.#busy ?? {};
    this.#busy = undefined;
    if (answer.ended) {
      this.#worker?.terminate();
      this.#worker = undefined;
    }
    resolve?.(answer);
    this.#next();
  }
}
