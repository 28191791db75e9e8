#include "study/compare/compare.hpp"

#include <algorithm>
#include <cmath>

namespace pipeloom::study {
namespace {

constexpr double kSame = 1e-3;

std::vector<RunNumbers> numbers_of(std::span<const Run* const> runs) {
  std::vector<RunNumbers> out;
  for (const Run* run : runs) out.push_back(study::numbers_of(*run));
  return out;
}

}  // namespace

std::optional<double> MetricRow::relative(std::size_t run) const {
  if (!values[0] || !values[run] || *values[0] == 0) return std::nullopt;
  return *values[run] / *values[0] - 1;
}

namespace {

std::vector<MetricRow> rows_of(std::span<const Metric* const> metrics, std::span<const RunNumbers> runs) {
  std::vector<MetricRow> rows;
  for (const Metric* metric : metrics) rows.push_back({metric->name, metric->unit, metric->better, {}});
  for (const RunNumbers& run : runs) {
    const bool comparable = same_clock(*runs.front().timeline, *run.timeline);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto value = comparable || rows[i].unit != Unit::Time ? metrics[i]->get(run) : std::nullopt;
      rows[i].values.push_back(value ? std::optional(number_of(*metrics[i], *value, run)) : std::nullopt);
    }
  }
  return rows;
}

}  // namespace

std::vector<MetricRow> compare_metrics(std::span<const RunNumbers> runs, std::span<const Metric> table) {
  std::vector<MetricRow> rows = rows_of(listed(&Metric::compare, table), runs);
  std::erase_if(rows, [](const MetricRow& row) {
    return std::none_of(row.values.begin(), row.values.end(),
                        [](const auto& value) { return value.has_value(); });
  });
  return rows;
}

std::vector<MetricRow> compare_metrics(std::span<const Run* const> runs, std::span<const Metric> table) {
  return compare_metrics(numbers_of(runs), table);
}

std::vector<MetricRow> compare_all_metrics(std::span<const Run* const> runs, std::span<const Metric> table) {
  std::vector<const Metric*> metrics = listed(&Metric::compare, table);
  for (const Metric& metric : table)
    if (metric.compare == 0) metrics.push_back(&metric);
  return rows_of(metrics, numbers_of(runs));
}

bool same_duration(TickSum a, TickSum b) {
  const double larger = std::max(std::abs(static_cast<double>(a)), std::abs(static_cast<double>(b)));
  return std::abs(static_cast<double>(a - b)) <= kSame * larger;
}

std::vector<Ticks> step_makespans(const Timeline& timeline) {
  std::vector<Ticks> out;
  for (int step = 0; step < timeline.steps; ++step) out.push_back(span_of(timeline, step).length());
  return out;
}

}  // namespace pipeloom::study
