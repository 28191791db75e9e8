#include "study/answers/select.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/io/json/json_value.hpp"
#include "study/report/metric.hpp"
#include "study/text/expression_tree.hpp"
#include "study/text/numbers.hpp"

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

using Tree = Expression::Tree;

std::string_view words_of(study::Unit unit) {
  constexpr std::array<std::string_view, 5> kWords = {"a time", "a size", "a ratio", "a count", "a rate"};
  return kWords[static_cast<std::size_t>(unit)];
}

/// Throws where a metric of one unit is compared with a number of another: of a time with bytes, or of a count with either.
void require_unit(const Tree& tree, const std::string& key, std::size_t constant, const Where& where) {
  const auto metrics = study::sweep_metrics();
  const auto metric = std::ranges::find(metrics, key, &study::Metric::name);
  if (!tree.with_unit[constant] || metric == metrics.end()) return;
  const bool is_time = tree.is_time[constant];
  if (metric->unit == (is_time ? study::Unit::Time : study::Unit::Bytes)) return;
  throw InputError(
      where, fmt::format("\"{}\" compares {}, {}, with {}; give {}", tree.text, key, words_of(metric->unit),
                         is_time ? "a time" : "a size", words_of(metric->unit)));
}

void require_units(const Tree& tree, const Where& where) {
  using Code = Tree::Code;
  for (std::size_t i = 2; i < tree.steps.size(); ++i) {
    if (tree.steps[i].code < Code::Equal || tree.steps[i].code > Code::GreaterEqual) continue;
    const Tree::Step& left = tree.steps[i - 2];
    const Tree::Step& right = tree.steps[i - 1];
    if (left.code == Code::Key && right.code == Code::Constant)
      require_unit(tree, tree.keys[left.index], right.index, where);
    if (left.code == Code::Constant && right.code == Code::Key)
      require_unit(tree, tree.keys[right.index], left.index, where);
  }
}

}  // namespace

RowFilter::RowFilter(const ResultTable& table, std::string_view condition, const Where& where)
    : table_(&table),
      expression_(Expression::parse(condition, where,
                                    {.unit = time_unit_named(table.units().time).value_or(TimeUnit::Unit)})) {
  require_units(expression_.tree(), where);
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

namespace {

/// Share of the axis that is left free at each end.
constexpr double kRoom = 0.04;
/// Marks may be closer than asked for by this factor.
constexpr double kCloser = 0.8;
/// Sizes below are counts of something abstract rather than bytes of a device.
constexpr double kSomeBytes = 4096;

using study::Unit;

/// The smallest 1, 2 or 5 times a power of ten, or power of two, that is not below `least`.
double round_step(double least, bool bytes) {
  if (bytes) return std::exp2(std::ceil(std::log2(least)));
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

/// A round value beside its axis, whose title has the unit of times.
std::string mark_text(double value, Unit unit) {
  if (unit == Unit::Bytes) return binary_bytes_text(value);
  if (unit == Unit::Ratio) return fmt::format("{:.6g} %", 100 * value);
  if (unit == Unit::PerSecond) return study::rate_text(value);
  return fmt::format("{:.6g}", value);
}

}  // namespace

Unit metric_unit(std::string_view metric) {
  const study::Metric* known = study::metric_named(metric);
  return known == nullptr ? Unit::Count : known->unit;
}

std::string metric_number(std::string_view metric, double value, const ValueUnits& units) {
  const Unit unit = metric_unit(metric);
  if (unit == Unit::Ratio) return percent_text(value);
  if (unit == Unit::PerSecond) return study::rate_text(value);
  if (unit == Unit::Bytes && units.activations)
    return fmt::format("{:.6g} activation{}", value, value == 1 ? "" : "s");
  if (unit == Unit::Bytes && std::abs(value) < 9e18)
    return bytes_text(static_cast<Bytes>(std::llround(value)));
  const std::string text = fmt::format("{:.6g}", value);
  return unit == Unit::Time && !units.time.empty() ? fmt::format("{} {}", text, units.time) : text;
}

std::string metric_text(std::string_view metric, const Column& column, Row row, const ValueUnits& units) {
  if (!column.has(row) || !column.is_number()) return column.text(row);
  const Unit unit = metric_unit(metric);
  // Counts have all their digits, and times that are short.
  if (unit == Unit::Count) return column.text(row);
  constexpr std::size_t kShort = 9;
  if (unit == Unit::Time && column.text(row).size() <= kShort)
    return units.time.empty() ? column.text(row) : fmt::format("{} {}", column.text(row), units.time);
  return metric_number(metric, column.number(row), units);
}

std::string metric_title(std::string_view metric, std::string_view time_unit) {
  const bool is_time = metric_unit(metric) == Unit::Time && !time_unit.empty();
  return is_time ? fmt::format("{}, {}", metric, time_unit) : std::string(metric);
}

Scale::Scale(double least, double most, Unit unit)
    : log_(least > 0 && most > kLogFrom * least),
      unit_(unit == Unit::Bytes && most < kSomeBytes ? Unit::Count : unit),
      from_(log_ ? std::log(least) : least),
      to_(log_ ? std::log(most) : most) {
  double room = kRoom * (to_ - from_);
  if (room == 0) room = from_ == 0 ? 1 : std::abs(from_) / 2;
  from_ -= room;
  to_ += room;
}

double Scale::place(double value) const {
  return ((log_ ? std::log(value) : value) - from_) / (to_ - from_);
}

double Scale::value_at(double place) const {
  const double at = from_ + place * (to_ - from_);
  return log_ ? std::exp(at) : at;
}

std::vector<AxisMark> Scale::marks(std::size_t about) const {
  std::vector<AxisMark> out;
  for (const double value : log_ ? log_marks(about) : linear_marks(about))
    out.push_back({value, mark_text(value, unit_)});
  return out;
}

std::vector<double> Scale::linear_marks(std::size_t about) const {
  const double step = round_step(kCloser * (to_ - from_) / static_cast<double>(about), in_bytes());
  std::vector<double> out;
  for (double i = std::ceil(from_ / step); i * step <= to_; ++i) out.push_back(i == 0 ? 0 : i * step);
  return out;
}

std::vector<double> Scale::log_marks(std::size_t about) const {
  const double base = in_bytes() ? 2 : 10;
  const double first = std::floor(from_ / std::log(base));
  const double last = std::ceil(to_ / std::log(base));
  const double powers = (to_ - from_) / std::log(base);
  // Every power, or every n-th; where few powers fit, what lies between them too.
  const double every = std::max(1.0, std::ceil(kCloser * powers / static_cast<double>(about)));
  const bool between = !in_bytes() && powers * 2 <= static_cast<double>(about);
  std::vector<double> out;
  for (double power = first; power <= last; power += every)
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * std::pow(base, power);
      if ((factor == 1 || between) && std::log(value) >= from_ && std::log(value) <= to_)
        out.push_back(value);
    }
  return out;
}

Extent extent_of(const Column& column, const std::vector<Row>& rows) {
  Extent out;
  bool any = false;
  for (const Row row : rows) {
    if (!column.has(row)) continue;
    const double value = column.number(row);
    out.least = any ? std::min(out.least, value) : value;
    out.most = any ? std::max(out.most, value) : value;
    any = true;
  }
  return out;
}

}  // namespace pipeloom::sweep
