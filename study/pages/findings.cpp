#include "study/pages/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <pipeloom/metrics.hpp>
#include "sim/io/config/effective_config.hpp"
#include "sim/kinds.hpp"
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

}  // namespace pipeloom::study::page
