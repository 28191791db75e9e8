#include "gui/model/panels/sweep_scene.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/text_tools.hpp"
#include "study/answers/select.hpp"

namespace pipeloom::gui {
namespace {

using sweep::Column;
using sweep::ResultTable;
using sweep::Row;

/// Number of points of a cell that are looked at under the pointer.
constexpr std::size_t kLooks = 64;
/// The shade of a cell with one point.
constexpr double kLeastShade = 50;

std::size_t cell_of(double place, std::size_t cells) {
  return std::min(static_cast<std::size_t>(std::max(place, 0.0) * static_cast<double>(cells)), cells - 1);
}

bool is_metric(const ResultTable& table, const std::string& name) {
  return std::any_of(table.metrics().begin(), table.metrics().end(),
                     [&](const auto& metric) { return metric.name == name; });
}

const Column& axis_column(const ResultTable& table, const std::string& name, const char* axis) {
  const std::vector<std::string> valid = axis_names(table);
  if (std::find(valid.begin(), valid.end(), name) == valid.end())
    throw InputError::unknown_name(Where{axis}, "metric or key of numbers", shortened(name, 64), valid);
  return table.column(name, {});
}

std::vector<Row> rows_where(const ResultTable& table, const std::string& condition) {
  if (condition.empty()) return select_rows(table, {});
  const Where where{"sweep-where"};
  const sweep::RowFilter filters[] = {{table, condition, where}};
  return select_rows(table, filters);
}

sweep::Scale scale_of(const Column& column, const std::string& name, const std::vector<Row>& rows) {
  const sweep::Extent extent = sweep::extent_of(column, rows);
  return {extent.least, extent.most, sweep::metric_unit(name)};
}

}  // namespace

std::vector<std::string> axis_names(const ResultTable& table) {
  std::vector<std::string> out;
  for (const auto& metric : table.metrics())
    if (metric.column.is_number()) out.push_back(metric.name);
  for (const auto& key : table.keys())
    if (key.varies && key.column.is_number()) out.push_back(key.name);
  return out;
}

SweepScene::SweepScene(Table table, SweepQuestion asked, const std::function<bool()>& stop)
    : table_(std::move(table)), question_(std::move(asked)) {
  const auto stopped = [&] { return stop && stop(); };
  if (question_.y.empty()) question_.y = default_metric(*table_);
  if (question_.x.empty()) question_.x = default_other_metric(*table_, question_.y);
  const std::vector<std::string> names = axis_names(*table_);
  if (question_.y.empty() && !names.empty()) question_.y = names.front();
  if (question_.x.empty() && !names.empty()) question_.x = names.back();
  if (question_.x.empty()) throw InputError("this result has no numbers to show");
  x_column_ = &axis_column(*table_, question_.x, "sweep-x");
  y_column_ = &axis_column(*table_, question_.y, "sweep-y");
  metric_ = is_metric(*table_, question_.y) ? question_.y : default_metric(*table_);
  const std::vector<Row> rows = rows_where(*table_, question_.where);
  find_series();
  if (stopped()) return;
  place_points(rows);
  if (stopped()) return;
  find_front(rows);
  if (stopped() || metric_.empty()) return;
  map_ = winner_map(*table_, rows, {question_.map_x, question_.map_y, question_.winner, metric_});
  if (!map_) return;
  question_.map_x = map_->x.key;
  question_.map_y = map_->y.key;
  question_.winner = map_->what;
}

void SweepScene::find_series() {
  if (question_.colour.empty()) question_.colour = series_key(*table_);
  series_of_.assign(table_->rows(), 0);
  if (question_.colour.empty()) return;
  const Column& column = table_->column(question_.colour, {"sweep-colour"});
  std::vector<Row> all(table_->rows());
  for (Row row = 0; row < all.size(); ++row) all[row] = row;
  const sweep::Levels levels = levels_of(column, all);
  for (const Row row : levels.example) series_.push_back(column.text(row));
  for (Row row = 0; row < all.size(); ++row)
    series_of_[row] =
        static_cast<std::uint16_t>(std::min<std::uint32_t>(levels.level_of[row], SweepCell::kMixed - 1U));
}

void SweepScene::place_points(const std::vector<Row>& rows) {
  std::vector<Row> shown;
  for (const Row row : rows)
    if (x_column_->has(row) && y_column_->has(row)) shown.push_back(row);
  x_ = scale_of(*x_column_, question_.x, shown);
  y_ = scale_of(*y_column_, question_.y, shown);
  // Rows by cell: counted, then put in their places.
  const auto cell = [&](Row row) {
    return cell_of(y_.place(y_column_->number(row)), kLines) * kColumns +
           cell_of(x_.place(x_column_->number(row)), kColumns);
  };
  std::vector<std::uint16_t> cell_of_row(shown.size());
  cell_begin_.assign(kColumns * kLines + 1, 0);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    cell_of_row[i] = static_cast<std::uint16_t>(cell(shown[i]));
    ++cell_begin_[cell_of_row[i] + 1U];
  }
  for (std::size_t i = 1; i < cell_begin_.size(); ++i) cell_begin_[i] += cell_begin_[i - 1];
  order_.resize(shown.size());
  std::vector<std::uint32_t> next(cell_begin_.begin(), cell_begin_.end() - 1);
  for (std::size_t i = 0; i < shown.size(); ++i) order_[next[cell_of_row[i]]++] = shown[i];
  if (order_.size() <= kMaxDots) {
    for (const Row row : shown) dots_.push_back(dot(row));
    return;
  }
  std::uint32_t most = 0;
  for (std::size_t i = 0; i + 1 < cell_begin_.size(); ++i) {
    const std::uint32_t points = cell_begin_[i + 1] - cell_begin_[i];
    if (points == 0) continue;
    const std::uint16_t first = series_of_[order_[cell_begin_[i]]];
    const bool same = std::all_of(order_.begin() + cell_begin_[i], order_.begin() + cell_begin_[i + 1],
                                  [&](Row row) { return series_of_[row] == first; });
    cells_.push_back({static_cast<std::uint16_t>(i % kColumns), static_cast<std::uint16_t>(i / kColumns),
                      points, same ? first : SweepCell::kMixed, 0});
    most = std::max(most, points);
  }
  for (SweepCell& made : cells_)
    made.shade = static_cast<std::uint8_t>(kLeastShade +
                                           (255 - kLeastShade) * std::log1p(made.points) / std::log1p(most));
}

void SweepScene::find_front(const std::vector<Row>& rows) {
  if (question_.x == question_.y || !is_metric(*table_, question_.x) || !is_metric(*table_, question_.y))
    return;
  const std::vector<std::string> metrics = {question_.y, question_.x};
  const auto front = pareto_front(*table_, rows, metrics);
  front_size_ = front.size();
  for (const sweep::FrontPoint& point : spread_over(front, kMaxFront)) front_.push_back(dot(point.row));
}

SweepDot SweepScene::dot(Row row) const {
  return {static_cast<float>(x_.place(x_column_->number(row))),
          static_cast<float>(y_.place(y_column_->number(row))), row, series_of_[row]};
}

std::optional<Row> SweepScene::hit(double x, double y, double reach_x, double reach_y) const {
  std::optional<Row> best;
  double nearest = 1;
  const auto look = [&](const SweepDot& dot) {
    const double dx = (static_cast<double>(dot.x) - x) / reach_x;
    const double dy = (static_cast<double>(dot.y) - y) / reach_y;
    if (dx * dx + dy * dy >= nearest) return;
    nearest = dx * dx + dy * dy;
    best = dot.row;
  };
  for (const SweepDot& point : front_) look(point);
  if (best || order_.empty()) return best;
  const std::size_t last_column = cell_of(x + reach_x, kColumns);
  const std::size_t last_line = cell_of(y + reach_y, kLines);
  for (std::size_t line = cell_of(y - reach_y, kLines); line <= last_line; ++line)
    for (std::size_t column = cell_of(x - reach_x, kColumns); column <= last_column; ++column) {
      const std::size_t cell = line * kColumns + column;
      const std::size_t last = std::min<std::size_t>(cell_begin_[cell + 1], cell_begin_[cell] + kLooks);
      for (std::size_t i = cell_begin_[cell]; i < last; ++i) look(dot(order_[i]));
    }
  return best;
}

std::optional<Row> SweepScene::best_of_cell(std::size_t x, std::size_t y) const {
  if (!map_ || x >= map_->x.values.size() || y >= map_->y.values.size()) return std::nullopt;
  return map_->at(x, y).best;
}

std::string SweepScene::winner_text() const {
  if (front_.empty()) return {};
  const SweepDot& best = front_.front();
  const auto value = [&](const std::string& metric, const sweep::Column& column) {
    const std::string text = metric_text(metric, column, best.row, table_->units());
    return text.substr(0, text.find(" ("));
  };
  const std::string name = question_.colour == "schedule" ? series_.at(best.series) : table_->title(best.row);
  return fmt::format("{}: {} at {}", name, value(question_.y, *y_column_), value(question_.x, *x_column_));
}

std::string SweepScene::point_text(Row row) const {
  std::string out = fmt::format("{}", table_->title(row));
  const sweep::ValueUnits units = table_->units();
  for (const auto& metric : table_->metrics())
    if (metric.column.has(row))
      out += fmt::format("\n{} {}", metric.name, metric_text(metric.name, metric.column, row, units));
  return out + fmt::format("\npoint {}", table_->point(row));
}

}  // namespace pipeloom::gui
