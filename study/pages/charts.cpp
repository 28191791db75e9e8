#include "study/pages/charts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <pipeloom/metrics.hpp>
#include "sim/analysis/idle_causes.hpp"
#include "sim/base/tick_sum.hpp"
#include "sim/draw/terminal.hpp"
#include "sim/io/config/effective_config.hpp"
#include "sim/kinds.hpp"
#include "study/document/html.hpp"
#include "study/pages/findings.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::study::page {

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
