#include "study/answers/answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "study/answers/select.hpp"
#include "study/text/mix.hpp"

namespace pipeloom::sweep {
namespace {

/// More than one value among the rows that have any.
bool varies_where_known(const Column& column, std::size_t rows) {
  std::optional<Row> first;
  for (Row row = 0; row < rows; ++row) {
    if (!column.has(row)) continue;
    if (first && column.bits(row) != column.bits(*first)) return true;
    if (!first) first = row;
  }
  return false;
}

bool known(const Column& column, std::size_t rows) {
  for (Row row = 0; row < rows; ++row)
    if (column.has(row)) return column.is_number();
  return false;
}

std::string first_metric(const ResultTable& table, std::span<const std::string_view> wanted,
                         std::string_view not_this, bool (*suits)(const Column&, std::size_t)) {
  for (const std::string_view name : wanted)
    for (const auto& metric : table.metrics())
      if (metric.name == name && name != not_this && suits(metric.column, table.rows())) return metric.name;
  return {};
}

/// A metric with its direction: less() is "better than".
struct Goal {
  const Column* column;
  bool less;
  [[nodiscard]] int compare(Row a, Row b) const {
    const auto order = column->compare(a, b);
    if (order == 0) return 0;
    return (order < 0) == less ? -1 : 1;
  }
};

bool dominates(const std::vector<Goal>& goals, Row a, Row b) {
  return std::all_of(goals.begin(), goals.end(), [&](const Goal& goal) { return goal.compare(a, b) <= 0; });
}

/// Keeps points that are better than all before them: in order of the first goal, only a smaller second one is new.
void front_of_two(const Goal& second, const std::vector<FrontPoint>& sorted, std::vector<FrontPoint>& front) {
  for (const FrontPoint& point : sorted)
    if (front.empty() || second.compare(point.row, front.back().row) < 0) front.push_back(point);
}

/// The same with three goals: of what came before only the stairs of the second and third count, which fall in both.
void front_of_three(const std::vector<Goal>& goals, const std::vector<FrontPoint>& sorted,
                    std::vector<FrontPoint>& front) {
  const auto by_second = [&](Row a, Row b) { return goals[1].compare(a, b) < 0; };
  std::map<Row, Row, decltype(by_second)> stairs(by_second);
  for (const FrontPoint& point : sorted) {
    const auto after = stairs.upper_bound(point.row);
    if (after != stairs.begin() && goals[2].compare(std::prev(after)->second, point.row) <= 0) continue;
    front.push_back(point);
    auto step = stairs.lower_bound(point.row);
    while (step != stairs.end() && goals[2].compare(point.row, step->second) <= 0) step = stairs.erase(step);
    stairs.emplace(point.row, point.row);
  }
}

void front_of_many(const std::vector<Goal>& goals, const std::vector<FrontPoint>& sorted,
                   std::vector<FrontPoint>& front) {
  for (const FrontPoint& point : sorted)
    if (std::none_of(front.begin(), front.end(),
                     [&](const FrontPoint& other) { return dominates(goals, other.row, point.row); }))
      front.push_back(point);
}

/// Rows with all metrics, by their goals in turn; equal ones are one.
std::vector<FrontPoint> distinct_points(const std::vector<Goal>& goals, const std::vector<Row>& rows) {
  std::vector<Row> sorted;
  for (const Row row : rows)
    if (std::all_of(goals.begin(), goals.end(), [&](const Goal& goal) { return goal.column->has(row); }))
      sorted.push_back(row);
  const auto compare = [&](Row a, Row b) {
    for (const Goal& goal : goals)
      if (const int order = goal.compare(a, b); order != 0) return order;
    return 0;
  };
  std::sort(sorted.begin(), sorted.end(), [&](Row a, Row b) {
    const int order = compare(a, b);
    return order != 0 ? order < 0 : a < b;
  });
  std::vector<FrontPoint> out;
  for (const Row row : sorted) {
    if (!out.empty() && compare(out.back().row, row) == 0)
      ++out.back().equals;
    else
      out.push_back({row, 0});
  }
  return out;
}

struct KeyColumn {
  std::uint64_t number = 0;  ///< of the key
  const Column* column = nullptr;
};

/// The columns of an axis. Empty where no point has any of its keys.
std::vector<KeyColumn> columns_of(const ResultTable& table, const std::vector<std::string>& axis) {
  std::vector<KeyColumn> out;
  for (std::size_t key = 0; key < table.keys().size(); ++key)
    if (std::find(axis.begin(), axis.end(), table.keys()[key].name) != axis.end())
      out.push_back({key, &table.keys()[key].column});
  return out;
}

/// Sum over columns of a fingerprint of (key, value): less an axis' share it tells points that differ in that axis only.
std::uint64_t fingerprint(const std::vector<KeyColumn>& columns, Row row) {
  std::uint64_t sum = 0;
  for (const KeyColumn& key : columns)
    sum += mixed(kMixStep + (mixed(kMixStep + key.number) ^ key.column->bits(row)));
  return sum;
}

Sensitivity of_groups(const std::string& key, std::vector<std::pair<std::uint64_t, double>>& members) {
  std::sort(members.begin(), members.end());
  Sensitivity out{key, 0, 0, 0};
  std::size_t with_relative = 0;
  for (std::size_t first = 0, last = 0; first < members.size(); first = last) {
    while (last < members.size() && members[last].first == members[first].first) ++last;
    if (last - first < 2) continue;
    const double range = members[last - 1].second - members[first].second;
    ++out.groups;
    out.mean_range += range;
    if (members[first].second == 0) continue;
    ++with_relative;
    out.mean_relative += range / std::abs(members[first].second);
  }
  if (out.groups > 0) out.mean_range /= static_cast<double>(out.groups);
  if (with_relative > 0) out.mean_relative /= static_cast<double>(with_relative);
  return out;
}

}  // namespace

std::string default_metric(const ResultTable& table) {
  static constexpr std::string_view kTimes[] = {"step_time", "makespan", "bubble_ratio"};
  static constexpr std::string_view kShares[] = {"bubble_ratio"};
  // Work that follows from another key differs all the same.
  const bool other_work = std::any_of(table.keys().begin(), table.keys().end(), [](const auto& key) {
    return key.varies && (key.name == "ranks" || key.name == "microbatches");
  });
  std::string found = other_work ? first_metric(table, kShares, "", known) : "";
  if (found.empty()) found = first_metric(table, kTimes, "", known);
  for (const auto& metric : table.metrics())
    if (found.empty() && known(metric.column, table.rows())) found = metric.name;
  return found;
}

std::string default_other_metric(const ResultTable& table, std::string_view metric) {
  static constexpr std::string_view kMemory[] = {"peak_bytes", "peak_activation_bytes", "peak_live"};
  std::string found = first_metric(table, kMemory, metric, varies_where_known);
  for (const auto& other : table.metrics())
    if (found.empty() && other.name != metric && known(other.column, table.rows())) found = other.name;
  return found;
}

std::vector<std::string> varying_keys(const ResultTable& table) {
  std::vector<std::string> out;
  for (const auto& key : table.keys())
    if (key.varies && !table.is_derived(key.name)) out.push_back(key.name);
  return out;
}

std::string series_key(const ResultTable& table) {
  std::vector<Row> all(table.rows());
  std::iota(all.begin(), all.end(), Row{0});
  std::string number;
  std::string text;
  for (const auto& key : table.keys()) {
    if (!key.varies || table.is_derived(key.name)) continue;
    if (key.name == "schedule") return key.name;
    if (levels_of(key.column, all).example.size() > kMaxSeries) continue;
    std::string& found = key.column.is_number() ? number : text;
    if (found.empty()) found = key.name;
  }
  return text.empty() ? number : text;
}

std::vector<FrontPoint> pareto_front(const ResultTable& table, const std::vector<Row>& rows,
                                     std::span<const std::string> metrics) {
  std::vector<Goal> goals;
  for (const std::string& name : metrics) goals.push_back({&table.metric(name, {}), less_is_better(name)});
  const std::vector<FrontPoint> sorted = distinct_points(goals, rows);
  std::vector<FrontPoint> front;
  if (goals.size() == 1 && !sorted.empty()) front.push_back(sorted.front());
  if (goals.size() == 2) front_of_two(goals[1], sorted, front);
  if (goals.size() == 3) front_of_three(goals, sorted, front);
  if (goals.size() > 3) front_of_many(goals, sorted, front);
  return front;
}

std::vector<Sensitivity> sensitivities(const ResultTable& table, const std::vector<Row>& rows,
                                       std::string_view metric) {
  const Column& values = table.metric(metric, {});
  const std::vector<std::vector<std::string>> axes = table.axes();
  std::vector<std::string> axis_keys;
  for (const auto& axis : axes) axis_keys.insert(axis_keys.end(), axis.begin(), axis.end());
  const std::vector<KeyColumn> all_columns = columns_of(table, axis_keys);
  std::vector<std::uint64_t> whole;
  for (const Row row : rows) whole.push_back(fingerprint(all_columns, row));
  std::vector<Sensitivity> out;
  std::vector<std::pair<std::uint64_t, double>> members;
  for (const auto& axis : axes) {
    const std::vector<KeyColumn> columns = columns_of(table, axis);
    if (columns.empty()) continue;
    members.clear();
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (values.has(rows[i]))
        members.emplace_back(whole[i] - fingerprint(columns, rows[i]), values.number(rows[i]));
    const Sensitivity found = of_groups(fmt::format("{}", fmt::join(axis, " and ")), members);
    if (found.groups > 0) out.push_back(found);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Sensitivity& a, const Sensitivity& b) { return a.mean_range > b.mean_range; });
  return out;
}

std::vector<FrontPoint> spread_over(const std::vector<FrontPoint>& front, std::size_t most) {
  if (front.size() <= most) return front;
  std::vector<FrontPoint> out;
  for (std::size_t i = 0; i < most; ++i) out.push_back(front[i * (front.size() - 1) / (most - 1)]);
  return out;
}

}  // namespace pipeloom::sweep
