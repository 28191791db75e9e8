// Figures as people read them.

const SHORT = { unit: '', second: 's', millisecond: 'ms', microsecond: 'µs', nanosecond: 'ns', s: 's', ms: 'ms', us: 'µs', ns: 'ns' };

const digits = (number, most = 4) => new Intl.NumberFormat('en', { maximumSignificantDigits: most, useGrouping: true }).format(number);

export function timeText(time, unit = 'unit') {
  const short = SHORT[unit] ?? unit;
  return short === '' ? digits(time, 6) : `${digits(time, 6)} ${short}`;
}

const shareText = (share) => `${(100 * share).toFixed(1)} %`;

/** Bytes in the largest decimal unit; relative sizes, where an activation is a few units, as they are. */
export function bytesText(bytes) {
  const names = ['B', 'kB', 'MB', 'GB', 'TB'];
  if (bytes < 10000) return digits(bytes, 6);
  const step = Math.min(names.length - 1, Math.floor(Math.log10(bytes) / 3));
  return `${digits(bytes / 1000 ** step)} ${names[step]}`;
}

export function headline(figures) {
  return `${figures.schedule}: step ${timeText(figures.step, figures.unit)}, bubble ${shareText(figures.bubble)}, ${digits(figures.ops, 9)} ops`;
}

/** A change of less than this is none. */
const NOTHING = 5e-5;

const pointsText = (value, base) => {
  const points = 100 * (value - base);
  return Math.abs(points) < 0.05 ? '' : ` (${points > 0 ? '+' : '−'}${Math.abs(points).toFixed(1)} points)`;
};

function changeText(value, base) {
  const change = base === 0 ? 0 : value / base - 1;
  return Math.abs(change) < NOTHING ? '' : ` (${change > 0 ? '+' : '−'}${shareText(Math.abs(change))})`;
}

/** Rows of the table: {name, texts, judged} with an entry for each run; all after the first are judged against it. */
export function numberRows(runs) {
  const rows = [];
  const add = (name, of, text, less = true, change = changeText) => {
    const values = runs.map(of);
    if (values.some((value) => value === undefined || value === null)) return;
    const [base] = values;
    const judge = (value) => (Math.abs(value - base) <= NOTHING * Math.abs(base) ? '' : value < base === less ? 'better' : 'worse');
    rows.push({
      name,
      texts: values.map((value, i) => text(value, runs[i]) + (i > 0 ? change(value, base) : '')),
      judged: values.map((value, i) => (i > 0 ? judge(value) : '')),
    });
  };
  add('Step', (run) => run.step, (value, run) => timeText(value, run.unit));
  add('Bubble', (run) => run.bubble, shareText, true, pointsText);
  add('Lower bound', (run) => run.bound, (value, run) => timeText(value, run.unit));
  add('Peak memory', (run) => run.peak, bytesText);
  add('Memory limit', (run) => (Array.isArray(run.limit) ? Math.min(...run.limit) : run.limit), bytesText, false);
  add('Tokens per second', (run) => run.tokens, (value) => digits(value, 5), false);
  add('Ops', (run) => run.ops, (value) => digits(value, 9));
  return rows;
}

/** A sentence, and the candidates of a plan. */
export function candidateRows(answer, own) {
  if (answer.code > 1) return { advice: answer.text, rows: [] };
  const candidates = answer.plan.candidates ?? [];
  if (candidates.length === 0) return { advice: 'No schedule fits under this limit.', rows: [] };
  const [best] = candidates;
  const saved = 1 - best.step_time / own.step;
  const advice = saved > NOTHING
    ? `${best.name} takes ${timeText(best.step_time, own.unit)}, ${shareText(saved)} less than this run.`
    : 'No other schedule of these ops is faster.';
  const rows = candidates.slice(0, 4).map((one) => ({
    name: one.name,
    text: timeText(one.step_time, own.unit),
    schedule: one.schedule,
    chunks: one.chunks,
  }));
  return { advice, rows };
}
