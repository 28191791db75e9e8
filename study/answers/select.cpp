#include "study/answers/select.hpp"

#include <algorithm>

#include "sim/io/json/json_value.hpp"
#include "study/report/metric.hpp"

namespace pipeloom::sweep {
namespace {

const io::Value* value_at(const io::Value& root, std::string_view path) {
  const io::Value* at = &root;
  while (at != nullptr && !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    at = at->find(path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return at;
}

/// As a column of one row would have it.
Operand operand_of(const io::Value& value) {
  Column column;
  column.add(value.canonical_text());
  return column.operand(0);
}

}  // namespace

RowFilter::RowFilter(const ResultTable& table, Expression expression, const Where& where)
    : table_(&table), expression_(std::move(expression)) {
  for (const std::string& key : expression_.keys()) names_.push_back(resolve(key, where));
}

RowFilter::Name RowFilter::resolve(const std::string& name, const Where& where) const {
  if (const Column* column = table_->find(name)) return {Name::Kind::Column, column, {}};
  if (name == "status") return {Name::Kind::Status, nullptr, {}};
  if (name == "point") return {Name::Kind::Point, nullptr, {}};
  const io::Document base = io::Document::parse(table_->header().base_json, "base");
  if (const io::Value* value = value_at(base.root(), name))
    return {Name::Kind::Constant, nullptr, operand_of(*value)};
  return {Name::Kind::Column, &table_->column(name, where), {}};
}

Operand RowFilter::value(const Name& name, Row row) const {
  switch (name.kind) {
    case Name::Kind::Column:
      return name.column->operand(row);
    case Name::Kind::Status:
      return Operand::of_text(std::string(name_of(table_->status(row))));
    case Name::Kind::Point:
      return Operand::number(Nano{table_->point(row)} * kOne);
    case Name::Kind::Constant:
      break;
  }
  return name.constant;
}

bool RowFilter::matches(Row row) const {
  for (const Name& name : names_)
    if (name.kind == Name::Kind::Column && !name.column->has(row)) return false;
  return expression_.evaluate([&](std::size_t i) { return value(names_[i], row); }).is_true();
}

bool RowFilter::asks_status() const {
  return std::any_of(names_.begin(), names_.end(),
                     [](const Name& name) { return name.kind == Name::Kind::Status; });
}

std::vector<Row> select_rows(const ResultTable& table, std::span<const RowFilter> filters) {
  const bool any_status = std::any_of(filters.begin(), filters.end(),
                                      [](const RowFilter& filter) { return filter.asks_status(); });
  std::vector<Row> out;
  for (Row row = 0; row < table.rows(); ++row) {
    if (!any_status && table.status(row) != Status::Ok) continue;
    if (std::all_of(filters.begin(), filters.end(),
                    [&](const RowFilter& filter) { return filter.matches(row); }))
      out.push_back(row);
  }
  return out;
}

bool less_is_better(std::string_view metric) {
  const study::Metric* known = study::metric_named(metric);
  return known == nullptr || known->better != study::Better::Higher;
}

std::vector<Row> best_rows(const ResultTable& table, const std::vector<Row>& rows, std::string_view metric,
                           std::size_t most) {
  const Column& column = table.metric(metric, {});
  const bool less = less_is_better(metric);
  std::vector<Row> out;
  for (const Row row : rows)
    if (column.has(row)) out.push_back(row);
  const auto better = [&](Row a, Row b) {
    const auto order = column.compare(a, b);
    return order == 0 ? a < b : (order < 0) == less;
  };
  const auto kept = static_cast<std::ptrdiff_t>(std::min(most, out.size()));
  std::partial_sort(out.begin(), out.begin() + kept, out.end(), better);
  out.resize(static_cast<std::size_t>(kept));
  return out;
}

std::vector<RowGroup> best_of_groups(const ResultTable& table, const std::vector<Row>& rows,
                                     std::string_view key, std::string_view metric, std::size_t most) {
  const Column& column = table.column(key, {});
  const Levels levels = levels_of(column, rows);
  std::vector<std::vector<Row>> members(levels.example.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (levels.level_of[i] != Levels::kNone) members[levels.level_of[i]].push_back(rows[i]);
  std::vector<RowGroup> out;
  for (std::size_t level = 0; level < members.size(); ++level)
    out.push_back({column.text(levels.example[level]), best_rows(table, members[level], metric, most)});
  return out;
}

}  // namespace pipeloom::sweep
