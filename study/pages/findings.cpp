#include "study/pages/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <pipeloom/metrics.hpp>
#include "sim/analysis/idle_causes.hpp"
#include "sim/base/tick_sum.hpp"
#include "sim/draw/terminal.hpp"
#include "sim/io/config/effective_config.hpp"
#include "sim/kinds.hpp"
#include "study/document/html.hpp"
#include "study/report/metric.hpp"
#include "study/report/run_tables.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::study::page {
namespace {

constexpr std::array<IdleCause, kIdleCauses> kCauses = {IdleCause::Warmup,    IdleCause::Cooldown,
                                                        IdleCause::Imbalance, IdleCause::Transfer,
                                                        IdleCause::Queueing,  IdleCause::Memory};

/// Description of what ranks do in time lost to this cause.
std::string_view meaning(IdleCause cause) {
  switch (cause) {
    case IdleCause::Warmup:
      return "ranks wait for work before their first backward";
    case IdleCause::Cooldown:
      return "ranks have run out of forwards and wait for the last backwards";
    case IdleCause::Imbalance:
      return "ranks wait in between for others that take longer";
    case IdleCause::Transfer:
      return "ranks wait for tensors under way";
    case IdleCause::Queueing:
      return "messages wait behind other messages";
    case IdleCause::Memory:
      return "ranks wait for memory to become free";
  }
  return {};
}

/// The bubble ratio, and in its note the facts that belong to it.
Fact bubble_fact(const RunNumbers& run) {
  const PageTimes times(run.timeline->unit);
  const Metric& ratio = *metric_named("bubble_ratio");
  const Metric& beside = *metric_named(ratio.beside);
  const auto share = [&run](const Metric& metric) {
    return percent_text(std::get<double>(*metric.get(run)));
  };
  return {std::string(ratio.label), share(ratio),
          fmt::format("{}; {} ({}) {}", ratio.note(run, times), beside.label, beside.note(run, times),
                      share(beside)),
          Tone::Plain};
}

Fact bound_fact(const Run& run) {
  const Metric& metric = bounded_metric(run.effective->step);
  const TickSum bounded = std::get<TickSum>(*metric.get(numbers_of(run)));
  Fact fact{std::string(metric.label), time_text(bounded, run.timeline.unit), "", Tone::Plain};
  const Ticks bound = run.metrics->lower_bound.value;
  if (bound <= 0) {
    fact.note = "no bound was worked out";
  } else if (bounded == bound) {
    fact.note = "no order can be shorter";
    fact.tone = Tone::Good;
  } else {
    fact.note = fmt::format("{} above the lower bound of {}", percent_text(share_of(bounded - bound, bound)),
                            time_text(bound, run.timeline.unit));
  }
  return fact;
}

Fact memory_fact(const Run& run) {
  const Metrics& m = *run.metrics;
  const Bytes peak = m.ranks.empty() ? 0 : m.ranks[m.peak_rank.at()].memory.peak_bytes;
  Fact fact{"peak memory", memory_text(*run.memory, peak), fmt::format("on rank {}", m.peak_rank.value()),
            Tone::Plain};
  if (run.memory->limit.empty()) return fact;
  fact.tone = run.over_limit ? Tone::Bad : Tone::Good;
  fact.note += ", " + headroom_text(*run.memory, m);
  return fact;
}

}  // namespace

std::string largest_cause(const CauseTotals& causes, TimeUnit unit) {
  const TickSum idle = causes.total.total();
  if (idle == 0) return "No rank is ever idle.";
  const IdleCause largest = *std::max_element(kCauses.begin(), kCauses.end(), [&](IdleCause a, IdleCause b) {
    return causes.total.of(a) < causes.total.of(b);
  });
  const auto worst = std::max_element(
      causes.of_rank.begin(), causes.of_rank.end(),
      [largest](const IdleCauses& a, const IdleCauses& b) { return a.of(largest) < b.of(largest); });
  const TickSum time = causes.total.of(largest);
  const bool all_equal =
      std::all_of(causes.of_rank.begin(), causes.of_rank.end(),
                  [&](const IdleCauses& rank) { return rank.of(largest) == worst->of(largest); });
  const std::string most = time_text(worst->of(largest), unit);
  const std::string who =
      all_equal ? fmt::format("Every rank loses {} to it.", most)
                : fmt::format("Rank {} loses most to it, {}.", worst - causes.of_rank.begin(), most);
  return fmt::format("Largest cause of idle time: {}, {} of {} ({}): {}. {}", name_of(largest),
                     time_text(time, unit), time_text(idle, unit), percent_text(share_of(time, idle)),
                     meaning(largest), who);
}

Facts facts_of_run(const Run& run) {
  const Metrics& m = *run.metrics;
  const TimeUnit unit = run.timeline.unit;
  Facts facts;
  facts.facts.push_back(bound_fact(run));
  facts.facts.push_back(bubble_fact(numbers_of(run)));
  facts.facts.push_back(memory_fact(run));
  const bool plain_step = m.step_time == m.makespan;
  facts.facts.push_back(
      {"step time", time_text(m.step_time, unit),
       plain_step
           ? "no optimizer beside the passes"
           : fmt::format("step rule {}",
                         run.effective->step.rule == StepRule::Barrier ? "barrier" : "post-validation"),
       Tone::Plain});
  return facts;
}

Facts facts_of_times(const Timeline& timeline) {
  const RunNumbers run{nullptr, &timeline};
  const TimelineFacts& found = run.facts();
  Facts facts;
  facts.facts = {
      {"makespan", time_text(found.makespan, timeline.unit), "first start to last end", Tone::Plain},
      bubble_fact(run),
      {"busy", time_text(found.busy, timeline.unit), "summed over ranks", Tone::Plain},
      {"idle", time_text(found.idle, timeline.unit), "summed over ranks", Tone::Plain}};
  return facts;
}

PageTable critical_table(const Run& run) {
  std::array<std::size_t, kOpKinds> counts{};
  std::array<Ticks, kOpKinds> times{};
  Ticks left = run.critical_path->length;
  for (const std::size_t op : run.critical_path->entries) {
    const std::size_t kind = index_of(run.schedule->ops()[op].kind());
    const Ticks time = run.timeline.end_of(op) - run.timeline.start_of(op);
    ++counts[kind];
    times[kind] += time;
    left -= time;
  }
  PageTable table;
  table.caption = "What the makespan consists of, along one longest chain. A group counts by its first op.";
  table.columns = {{"on the path", Align::Left},
                   {"entries", Align::Right},
                   {"time", Align::Right},
                   {"share", Align::Right}};
  const auto add = [&](const std::string& name, std::size_t count, Ticks time) {
    table.rows.push_back({{name},
                          {count_text(count)},
                          {time_text(time, run.timeline.unit)},
                          {percent_text(share_of(time, run.critical_path->length))}});
  };
  for (std::size_t i = 0; i < kOpKinds; ++i)
    if (counts[i] > 0) add(std::string(kKinds[i].words), counts[i], times[i]);
  if (left != 0) add("between entries: transfers and their queues", 0, left);
  return table;
}

std::string text_chart(const Timeline& timeline) {
  draw::TerminalOptions options;
  options.width = 100;
  options.max_ranks = 16;
  return draw::terminal_chart(timeline, options);
}

std::string run_heading(const Run& run) {
  const io::EffectiveConfig& config = *run.effective;
  return fmt::format("{} on {}, {}", config.schedule,
                     count_text(static_cast<std::size_t>(config.ranks), "rank"),
                     count_text(static_cast<std::size_t>(config.microbatches), "microbatch"));
}

std::string run_subtitle(const Run& run) {
  std::string out = count_text(run.metrics->num_ops, "op");
  if (run.metrics->num_entries != run.metrics->num_ops)
    out += fmt::format(" in {} entries", count_text(run.metrics->num_entries));
  if (run.effective->chunks > 1) out += fmt::format(", {} chunks per rank", *run.effective->chunks);
  if (run.timeline.steps > 1) out += fmt::format(", {} steps", run.timeline.steps);
  const TimeUnit unit = run.timeline.unit;
  return out + fmt::format("; times in {}", unit == TimeUnit::Unit ? "abstract units" : name_of(unit));
}

PageTable cause_table(const Metrics& metrics, TimeUnit unit) {
  CauseSums sum;
  for (const RankMetrics& rank : metrics.ranks) sum += rank.idle_causes;
  const TickSum area = TickSum::times(metrics.makespan, static_cast<std::int64_t>(metrics.ranks.size()));
  PageTable table;
  table.caption = "Summed over all ranks";
  table.columns = {{"cause", Align::Left},
                   {"time", Align::Right},
                   {"of idle time", Align::Right},
                   {"of all time", Align::Right}};
  TimeFormat format(unit);
  format.include(sum.total());
  for (std::size_t i = 0; i < kIdleCauses; ++i) format.include(sum.of(static_cast<IdleCause>(i)));
  const auto add = [&](const std::string& name, TickSum time, const std::string& swatch) {
    table.rows.push_back({{name, Tone::Plain, swatch},
                          {format.text(time)},
                          {percent_text(share_of(time, sum.total()))},
                          {percent_text(share_of(time, area))}});
  };
  for (std::size_t i = 0; i < kIdleCauses; ++i) {
    const auto cause = static_cast<IdleCause>(i);
    if (sum.of(cause) > 0) add(std::string(name_of(cause)), sum.of(cause), idle_class(cause));
  }
  add("all", sum.total(), "");
  return table;
}

PageTable busy_table(const Timeline& timeline, std::size_t most) {
  const Schedule& schedule = *timeline.schedule;
  const Ticks makespan = span_of(timeline).length();
  const std::size_t shown = std::min(most, static_cast<std::size_t>(schedule.ranks()));
  PageTable table;
  table.caption = "First step";
  if (shown < static_cast<std::size_t>(schedule.ranks()))
    table.caption += fmt::format("; the first {} of {} ranks", shown, schedule.ranks());
  table.columns = {
      {"rank", Align::Right}, {"busy", Align::Right}, {"idle", Align::Right}, {"busy share", Align::Right}};
  for (Rank rank{0}; rank.at() < shown; ++rank) {
    Ticks busy = 0;
    for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                   [&](std::size_t first, std::size_t last) {
                     if (is_copy(schedule.ops()[first].kind())) return;
                     Ticks start = timeline.start[first];
                     Ticks end = timeline.end[first];
                     for (std::size_t op = first; op < last; ++op) {
                       start = std::min(start, timeline.start[op]);
                       end = std::max(end, timeline.end[op]);
                     }
                     busy += end - start;
                   });
    table.rows.push_back({{std::to_string(rank.value())},
                          {time_text(busy, timeline.unit)},
                          {time_text(makespan - busy, timeline.unit)},
                          {percent_text(share_of(busy, makespan))}});
  }
  return table;
}

}  // namespace pipeloom::study::page
