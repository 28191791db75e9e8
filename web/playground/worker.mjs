// The core off the page's thread: texts in, texts and figures out. A plan ends early where the page ends its worker.

import { load } from './pipeloom.mjs';

const loading = load();

/** The figures of a report that the page shows: times in its unit, bytes as they are. */
function figuresOf(report) {
  return {
    schedule: report.config.schedule,
    config: report.config,
    unit: report.time_unit,
    step: report.step_time,
    makespan: report.makespan,
    bubble: report.bubble_ratio,
    bound: report.lower_bound?.value,
    peak: report.memory?.peak_bytes,
    rank: report.memory?.peak_rank,
    limit: report.config.memory?.limit_bytes,
    activation: report.config.memory?.activation_bytes,
    ops: report.num_ops,
    tokens: report.tokens_per_s,
  };
}

/** A run's figures, and its picture where one is asked for. */
function drawn(core, { text, picture }) {
  const report = core.call('report', text);
  if (report.code > 1) return report;
  const figures = figuresOf(JSON.parse(report.text));
  const answer = { code: report.code, warnings: report.warnings, figures };
  if (picture === undefined) return answer;
  const svg = core.call('convert', text, { ...picture, format: 'svg' });
  return svg.code > 1 ? svg : { ...answer, svg: svg.text };
}

function planned(core, { text, options }) {
  const plan = core.call('plan', text, options);
  return plan.code > 1 ? plan : { code: plan.code, warnings: plan.warnings, plan: JSON.parse(plan.text) };
}

const kinds = {
  draw: drawn,
  plan: planned,
  schedules: (core) => ({ code: 0, schedules: core.schedules() }),
};

addEventListener('message', async ({ data }) => {
  const { id, kind, question } = data;
  try {
    postMessage({ id, answer: kinds[kind](await loading, question) });
  } catch (error) {
    postMessage({ id, answer: { code: 70, text: error.message, ended: true } });
  }
});
