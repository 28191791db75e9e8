#include "study/report/metrics_table.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace pipeloom::study {
namespace {

std::string ratio(double value) {
  std::array<char, 40> buffer;
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr};
}

std::string time(const Evaluation& run, Ticks ticks) {
  return format_ticks(ticks, run.timeline.unit);
}

/// Largest value over the ranks.
template <class Get>
std::string largest(const Evaluation& run, const Get& get) {
  const auto& ranks = run.metrics.ranks;
  decltype(get(ranks.front())) most = 0;
  for (const RankMetrics& rank : ranks) most = std::max(most, get(rank));
  return std::to_string(most);
}

std::string most_bytes(const Evaluation& run, Bytes RankMemory::*member) {
  Bytes most = 0;
  for (const RankMetrics& rank : run.metrics.ranks) most = std::max(most, rank.memory.*member);
  return bytes_number(run.memory, most);
}

using E = const Evaluation&;

constexpr Metric kMetrics[] = {
    {"makespan", "time_unit", Better::Lower, "last end - first start over all ranks",
     [](E run) { return time(run, run.metrics.makespan); }},
    {"step_time", "time_unit", Better::Lower, "time of one step, optimizer included",
     [](E run) { return time(run, run.metrics.step_time); }},
    {"steady_period", "time_unit", Better::Lower, "time per step of the endlessly repeated schedule",
     [](E run) { return time(run, run.metrics.steady_period); }},
    {"ideal_time", "time_unit", Better::Lower, "the most work that one rank must do",
     [](E run) { return time(run, run.metrics.ideal_time); }},
    {"max_window", "time_unit", Better::Lower, "longest time from a rank's first start to its last end",
     [](E run) { return time(run, run.metrics.max_window); }},
    {"lower_bound", "time_unit", Better::Neither, "best proven bound over all orders",
     [](E run) { return time(run, run.metrics.lower_bound.value); }},
    {"bubble_ratio", "ratio", Better::Lower, "idle time / (ranks * makespan)",
     [](E run) { return ratio(run.metrics.bubble_ratio); }},
    {"bubble_overhead", "ratio", Better::Lower, "idle time / busy time",
     [](E run) { return ratio(run.metrics.bubble_overhead); }},
    {"window_bubble_ratio", "ratio", Better::Lower, "1 - busiest rank's work / longest window",
     [](E run) { return ratio(run.metrics.window_bubble_ratio); }},
    {"peak_bytes", "bytes", Better::Lower, "most bytes that a rank holds at once",
     [](E run) { return most_bytes(run, &RankMemory::peak_bytes); }},
    {"peak_activation_bytes", "bytes", Better::Lower, "most activation bytes that a rank holds at once",
     [](E run) { return most_bytes(run, &RankMemory::peak_activation_bytes); }},
    {"peak_live", "count", Better::Lower, "most (stage, microbatch) pairs live on a rank",
     [](E run) { return largest(run, [](const RankMetrics& rank) { return rank.memory.peak_live; }); }},
    {"num_ops", "count", Better::Neither, "ops of one step",
     [](E run) { return std::to_string(run.metrics.num_ops); }},
    {"num_entries", "count", Better::Neither, "queue entries of one step; a group counts once",
     [](E run) { return std::to_string(run.metrics.num_entries); }},
};

}  // namespace

std::span<const Metric> all_metrics() {
  return kMetrics;
}

const Metric& find_metric(std::string_view name, const Where& where) {
  for (const Metric& metric : kMetrics)
    if (metric.name == name) return metric;
  std::vector<std::string> valid;
  for (const Metric& metric : kMetrics) valid.emplace_back(metric.name);
  throw InputError::unknown_name(where, "metric", name, valid);
}

}  // namespace pipeloom::study
