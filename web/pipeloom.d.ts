// Types of pipeloom.mjs. Reports, plans and verdicts have the keys of the program's JSON: `pipeloom schema report`, `pipeloom schema plan`.

/** A configuration: its text (JSON, comments allowed), or an object of the same keys. */
export type Configuration = string | Record<string, unknown>;

export interface Named {
  /** What messages call the text by; default "configuration". */
  file?: string;
}

export interface Picture extends Named {
  title?: string;
  /** Pixels; 0 or left out: it follows from the content. */
  width?: number;
  height?: number;
  /** The memory of each rank below its row. */
  memory?: boolean;
  /** Gaps tinted by their cause. */
  idle_causes?: boolean;
  /** Ops of the critical path outlined. */
  critical_path?: boolean;
  dark?: boolean;
}

/** As the options of `pipeloom plan`. Plans of a module use one thread, and equal questions give equal bytes. */
export interface PlanOptions extends Named {
  /** "schedule,chunks,placement,order"; default as the program's. */
  vary?: string;
  objective?: 'step_time' | 'makespan' | 'max_window' | 'tokens_per_s' | 'peak_bytes' | 'p95';
  /** Bytes a rank may hold, or a text such as "80GB". */
  limit?: number | string;
  /** Seconds of search, of the machine that figures are counted for: a browser takes two to three times as long. Default 2. */
  budget?: number;
  seed?: number;
  top?: number;
  /** The queues of every candidate too. */
  orders?: boolean;
}

export interface Answer {
  /** 0 fine, 1 the answer is "no" (over the memory limit, nothing fits, illegal), 2 bad input, 3 no memory, 70 a bug of ours. */
  code: 0 | 1 | 2 | 3 | 70;
  /** What the program prints; from 2 on its sentence. */
  text: string;
  /** Lines for people: "warning: ..". */
  warnings: string[];
}

export interface ScheduleInfo {
  name: string;
  summary: string;
  source: string;
  when_to_use: string;
  aliases: string[];
  needs: string;
  min_chunks: number;
  max_chunks: number;
  default_chunks: number;
}

export interface Pipeloom {
  /** The report of `pipeloom simulate --json`, as text and as an object. Throw PipeloomError, as all that follow do. */
  report(configuration: Configuration, options?: Named): string;
  simulate(configuration: Configuration, options?: Named): Record<string, any>;
  /** The picture of `pipeloom convert`, and any other of its formats that are text. */
  svg(configuration: Configuration, options?: Picture): string;
  convert(configuration: Configuration, format: string, options?: Picture): string;
  /** `pipeloom plan --json`. */
  plan(configuration: Configuration, options?: PlanOptions): Record<string, any>;
  /** `pipeloom validate --json`, of a configuration or a schedule file. */
  validate(configuration: Configuration, options?: Named): Record<string, any>;
  schedules(): ScheduleInfo[];
  /** Makes `text` a file of this name in the module's memory, which configurations may name (options.file). */
  keep(file: string, text: string): void;
  /** Any of report, convert, plan, validate, schedules, keep and version, without an exception for refused input. */
  call(name: string, text: string, options?: Record<string, unknown>): Answer;
  readonly version: string;
  /** Memory that the module has taken; it grows and never shrinks. */
  readonly heapBytes: number;
}

/** The program's own sentence about a question that it refuses. */
export class PipeloomError extends Error {
  code: number;
}

/** Loads the module that lies beside this file. `wasm`: its bytes, where they are somewhere else. */
export function load(options?: { wasm?: ArrayBuffer | Uint8Array }): Promise<Pipeloom>;
