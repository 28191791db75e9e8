#include "study/answers/decisions.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "sim/io/config/key.hpp"
#include "study/answers/select.hpp"

namespace pipeloom::sweep {
namespace {

using Values = std::vector<std::uint64_t>;

bool is_decision(const std::string& key, const std::vector<std::string>& decided) {
  if (std::find(decided.begin(), decided.end(), key) != decided.end()) return true;
  const io::Key* known = io::find_config_key(key);
  return known == nullptr || known->role == io::KeyRole::Decision;
}

bool differ_in(const Column& column, const std::vector<Row>& rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](Row row) { return column.bits(row) != column.bits(rows.front()); });
}

/// Keys of axes that are given, in the table's order.
std::vector<std::string> environment_keys(const ResultTable& table, const std::vector<Row>& rows,
                                          const std::vector<std::string>& decided) {
  std::vector<std::string> out;
  for (const auto& axis : table.axes()) {
    if (std::any_of(axis.begin(), axis.end(),
                    [&](const std::string& key) { return is_decision(key, decided); }))
      continue;
    for (const std::string& key : axis)
      if (const Column* column = table.find(key); column != nullptr && differ_in(*column, rows))
        out.push_back(key);
  }
  return out;
}

bool holds_key(const std::vector<std::string>& keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

Values values_of(const std::vector<const Column*>& columns, Row row) {
  Values out;
  for (const Column* column : columns) out.push_back(column->bits(row));
  return out;
}

/// A decision's points, and in which environments they are.
struct Group {
  std::vector<Row> rows;
  std::set<Values> environments;
};

/// Compact JSON; "" where a point lacks the value.
std::string joined_value(const Column& column, const std::vector<Row>& rows, Over over, bool less) {
  if (!std::all_of(rows.begin(), rows.end(), [&](Row row) { return column.has(row); })) return "";
  const auto order = [&](Row a, Row b) { return column.compare(a, b) < 0; };
  const Row least = *std::min_element(rows.begin(), rows.end(), order);
  const Row most = *std::max_element(rows.begin(), rows.end(), order);
  if (over == Over::Worst || column.compare(least, most) == 0 || !column.is_number())
    return column.json(less ? most : least);
  double sum = 0;
  for (const Row row : rows) sum += column.number(row);
  std::array<char, 40> text{};
  const double mean = sum / static_cast<double>(rows.size());
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), mean).ptr};
}

ResultLine line_of(const ResultTable& table, const Group& group, const std::vector<std::string>& environments,
                   Over over) {
  ResultLine out;
  const Row first = group.rows.front();
  out.point = table.point(first);
  out.status = name_of(Status::Ok);
  for (const auto& key : table.keys()) {
    // A key that is calculated from an environment differs as the environment does.
    if (holds_key(environments, key.name) || !key.column.has(first) || differ_in(key.column, group.rows))
      continue;
    out.config.emplace_back(key.name, key.column.json(first));
  }
  for (const auto& metric : table.metrics())
    if (std::string value = joined_value(metric.column, group.rows, over, less_is_better(metric.name));
        !value.empty())
      out.metrics.emplace_back(metric.name, std::move(value));
  return out;
}

/// By decision, in the order of their first rows.
std::vector<Group> groups_of(const ResultTable& table, const std::vector<Row>& rows,
                             const std::vector<std::string>& environments) {
  std::vector<const Column*> decision;
  std::vector<const Column*> environment;
  for (const auto& key : table.keys())
    if (holds_key(environments, key.name))
      environment.push_back(&key.column);
    else if (!table.is_derived(key.name))
      decision.push_back(&key.column);
  std::map<Values, std::size_t> place;
  std::vector<Group> out;
  for (const Row row : rows) {
    const auto [at, added] = place.emplace(values_of(decision, row), out.size());
    if (added) out.emplace_back();
    out[at->second].rows.push_back(row);
    out[at->second].environments.insert(values_of(environment, row));
  }
  return out;
}

}  // namespace

std::string_view name_of(Over over) {
  return over == Over::Mean ? "mean" : "worst";
}

std::optional<Decisions> decisions_of(const ResultTable& table, const std::vector<Row>& rows, Over over,
                                      const std::vector<std::string>& decided) {
  std::vector<std::string> keys =
      rows.empty() ? std::vector<std::string>() : environment_keys(table, rows, decided);
  if (keys.empty()) return std::nullopt;
  const std::vector<Group> groups = groups_of(table, rows, keys);
  Decisions out{.table = ResultTable(table.header()), .rows = {}, .keys = std::move(keys)};
  std::set<Values> all;
  for (const Group& group : groups) {
    all.insert(group.environments.begin(), group.environments.end());
    out.answered = std::max(out.answered, group.environments.size());
  }
  out.environments = all.size();
  for (const Group& group : groups) {
    if (group.environments.size() == out.answered) out.rows.push_back(static_cast<Row>(out.table.rows()));
    out.table.add(line_of(table, group, out.keys, over), {});
  }
  out.table.finish();
  return out;
}

}  // namespace pipeloom::sweep
