#include "study/report/run_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <pipeloom/metrics.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/draw/words.hpp"
#include "study/run/messages.hpp"
#include "study/run/repeated/repeated_run.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::study {
namespace {

constexpr std::size_t kStagesShown = 6;

PageTimes times_of(const RunNumbers& run, std::span<const Metric> table) {
  PageTimes times(run.timeline->unit);
  for (const Metric& metric : table)
    if (metric.report && metric.unit == Unit::Time)
      if (const auto value = metric.get(run)) times.include(std::get<TickSum>(*value));
  return times;
}

/// Text for people. Sizes of a run without bytes end in the name of their unit.
std::string people_text(const Metric& metric, const MetricValue& value, const RunNumbers& run,
                        const PageTimes& times) {
  if (metric.unit == Unit::Time) return times.text(std::get<TickSum>(value));
  if (metric.unit == Unit::Ratio) return percent_text(std::get<double>(value));
  if (metric.unit == Unit::PerSecond) return rate_text(std::get<double>(value));
  const auto count = static_cast<Bytes>(std::get<TickSum>(value).value());
  return metric.unit == Unit::Bytes ? memory_text(*run.memory, count)
                                    : count_text(static_cast<std::size_t>(count));
}

void add_metric(const Metric& metric, const RunNumbers& run, const PageTimes& times, Table& table) {
  const auto value = metric.get(run);
  if (!value) return;
  std::string text = people_text(metric, *value, run, times);
  std::string note = metric.note == nullptr ? "" : metric.note(run, times);
  // The unit of relative sizes goes to the note, or it would set the width of the column.
  if (const auto unit = text.find(" of a stage"); unit != std::string::npos) {
    note = text.substr(unit + 1) + ", " + note;
    text.resize(unit);
  }
  table.add_row({std::string(metric.label), std::move(text), std::move(note)});
}

TimeFormat format_of_ranks(const Run& run) {
  TimeFormat format(run.timeline.unit);
  for (const RankMetrics& rank : run.metrics->ranks) {
    format.include(rank.busy);
    format.include(rank.idle);
    for (std::size_t i = 0; i < kIdleCauses; ++i)
      format.include(rank.idle_causes.of(static_cast<IdleCause>(i)));
  }
  return format;
}

/// "0 4 8 12", or "0 4 .. 124 (32)" where there are many.
std::string stages_text(std::span<const Stage> stages) {
  if (stages.size() > kStagesShown)
    return fmt::format("{} {} .. {} ({})", stages[0].value(), stages[1].value(), stages.back().value(),
                       stages.size());
  std::string out;
  for (const Stage stage : stages) out += fmt::format("{}{}", out.empty() ? "" : " ", stage.value());
  return out;
}

std::vector<IdleCause> shown_causes(const Metrics& metrics, bool everything) {
  std::vector<IdleCause> shown;
  for (std::size_t i = 0; i < kIdleCauses; ++i) {
    const auto cause = static_cast<IdleCause>(i);
    const auto has = [cause](const RankMetrics& rank) { return rank.idle_causes.of(cause) != 0; };
    if (everything || std::any_of(metrics.ranks.begin(), metrics.ranks.end(), has)) shown.push_back(cause);
  }
  return shown;
}

/// True if any rank holds something other than one unit per live activation, the default.
bool has_activation_bytes(const Metrics& metrics) {
  return std::any_of(metrics.ranks.begin(), metrics.ranks.end(), [](const RankMetrics& rank) {
    return rank.memory.peak_activation_bytes != rank.memory.peak_live;
  });
}

/// True if the total differs anywhere from the activations, so that both are worth a column.
bool has_other_bytes(const Metrics& metrics) {
  return std::any_of(metrics.ranks.begin(), metrics.ranks.end(), [](const RankMetrics& rank) {
    return rank.memory.peak_bytes != rank.memory.peak_activation_bytes;
  });
}

template <class Less>
Rank extreme(const Metrics& metrics, const Less& less) {
  const auto found = std::max_element(metrics.ranks.begin(), metrics.ranks.end(), less);
  return Rank(static_cast<std::int32_t>(found - metrics.ranks.begin()));
}

}  // namespace

std::string run_title(const Run& run) {
  const auto& config = *run.effective;
  const Metrics& m = *run.metrics;
  std::string out =
      fmt::format("{}: {}, {}", config.schedule, count_text(static_cast<std::size_t>(config.ranks), "rank"),
                  count_text(static_cast<std::size_t>(config.microbatches), "microbatch"));
  if (config.chunks > 1) out += fmt::format(", {} chunks per rank", *config.chunks);
  out += fmt::format("; {}", count_text(m.num_ops, "op"));
  if (m.num_entries != m.num_ops) out += fmt::format(" in {} entries", count_text(m.num_entries));
  const TimeUnit unit = run.timeline.unit;
  return out + fmt::format("; times in {}", draw::unit_words(unit));
}

Table summary_table(const Run& run, std::span<const Metric> metrics) {
  const RunNumbers numbers = numbers_of(run);
  const PageTimes time = times_of(numbers, metrics);
  Table table({{"", Align::Left}, {"", Align::Right}, {"", Align::Left}});
  for (const Metric* metric : listed(&Metric::summary, metrics)) add_metric(*metric, numbers, time, table);
  if (run.messages) {
    const MessageTotals& totals = run.messages->totals;
    table.add_row(
        {"messages", count_text(totals.count),
         fmt::format("plan {}; ranks wait {} for them", run.messages->plan, time.text(totals.exposed))});
    if (totals.queued > 0)
      table.add_row({"head of line", time.text(totals.head_of_line),
                     fmt::format("messages behind others; it costs {} of the makespan",
                                 time.text(run.messages->lost_to_queues))});
  }
  if (const std::size_t entries = path_entries(run); entries > 0)
    table.add_row({"critical path", count_text(entries), "entries set the makespan"});
  return table;
}

Table rank_table(const Run& run, const std::vector<Rank>& ranks, bool everything) {
  const auto causes = shown_causes(*run.metrics, everything);
  const bool activations = everything || has_activation_bytes(*run.metrics);
  const bool total = everything || has_other_bytes(*run.metrics);
  const TimeFormat time = format_of_ranks(run);
  std::vector<Column> columns = {
      {"rank", Align::Right}, {"stages", Align::Left}, {"busy", Align::Right}, {"idle", Align::Right}};
  for (const IdleCause cause : causes) columns.push_back({std::string(name_of(cause)), Align::Right});
  columns.push_back({"peak live", Align::Right});
  if (activations) columns.push_back({"activations", Align::Right});
  if (total) columns.push_back({"peak memory", Align::Right});
  const bool host = run.schedule->has_copies();
  if (host) columns.push_back({"on the host", Align::Right});

  Table table(std::move(columns));
  for (const Rank rank : ranks) {
    const RankMetrics& m = run.metrics->ranks[rank.at()];
    std::vector<std::string> row = {std::to_string(rank.value()),
                                    stages_text(run.schedule->placement().stages_of(rank)), time.text(m.busy),
                                    time.text(m.idle)};
    for (const IdleCause cause : causes) row.push_back(time.text(m.idle_causes.of(cause)));
    row.push_back(count_text(static_cast<std::size_t>(m.memory.peak_live)));
    if (activations) row.push_back(memory_cell(*run.memory, m.memory.peak_activation_bytes));
    if (total) row.push_back(memory_cell(*run.memory, m.memory.peak_bytes));
    if (host) row.push_back(memory_cell(*run.memory, m.memory.peak_host_bytes));
    table.add_row(std::move(row));
  }
  return table;
}

std::vector<Rank> interesting_ranks(const Metrics& metrics, std::size_t limit) {
  const std::size_t count = metrics.ranks.size();
  std::vector<Rank> shown;
  const auto add = [&shown](Rank rank) {
    if (std::find(shown.begin(), shown.end(), rank) == shown.end()) shown.push_back(rank);
  };
  const auto spread = [count](std::size_t i, std::size_t parts) {
    return Rank(static_cast<std::int32_t>(i * (count - 1) / std::max<std::size_t>(1, parts - 1)));
  };
  if (count > limit) {
    for (const Rank rank : {spread(0, 2), spread(1, 2)}) add(rank);
    add(extreme(metrics, [](const auto& a, const auto& b) { return a.busy < b.busy; }));
    add(extreme(metrics, [](const auto& a, const auto& b) { return a.idle < b.idle; }));
    add(metrics.peak_rank);
  }
  const std::size_t parts = std::min(limit, count);
  for (std::size_t i = 0; i < parts && shown.size() < limit; ++i) add(spread(i, parts));
  std::sort(shown.begin(), shown.end());
  return shown;
}

Table scenario_times_table(const ScenarioSummary& scenarios, TimeUnit unit) {
  Table times({{"over scenarios"},
               {"mean", Align::Right},
               {"p50", Align::Right},
               {"p95", Align::Right},
               {"p99", Align::Right}});
  const auto add = [&times](const char* name, const auto& of, const auto& text) {
    times.add_row({name, text(of.mean), text(of.p50), text(of.p95), text(of.p99)});
  };
  add("makespan", scenarios.makespan, [unit](Ticks ticks) { return time_text(ticks, unit); });
  add("bubble ratio", scenarios.bubble, [](double ratio) { return percent_text(ratio); });
  return times;
}

Table sensitivity_table(const ScenarioSummary& scenarios, bool everything) {
  constexpr std::size_t kShown = 4;  // of stages, of ranks, of kinds, of links
  Table hangs({{"1 % slower"}, {"lengthens the step by", Align::Right}});
  std::size_t shown = 0;
  for (std::size_t i = 0; i < scenarios.sensitivities.size(); ++i) {
    const Sensitivity& one = scenarios.sensitivities[i];
    shown = i > 0 && scenarios.sensitivities[i - 1].what == one.what ? shown + 1 : 0;
    if (shown < kShown || everything) hangs.add_row({name_of(one), percent_text(one.derivative / 100)});
  }
  return hangs;
}

std::string scenario_title(const ScenarioSummary& scenarios) {
  return fmt::format("{}, seed {}", count_text(static_cast<std::size_t>(scenarios.count), "scenario"),
                     scenarios.seed);
}

std::string over_limit_text(const OverLimit& over, const MemoryModel& model) {
  return fmt::format(
      "over the memory limit: rank {} needs {} at {}, the limit is {}; take a schedule or a placement with "
      "fewer live activations, or raise memory.limit_bytes",
      over.rank.value(), memory_text(model, over.bytes), to_text(over.op), memory_text(model, over.limit));
}

}  // namespace pipeloom::study
