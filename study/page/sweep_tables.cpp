#include "study/page/sweep_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "study/numbers.hpp"
#include "study/sweep/scale.hpp"

namespace pipeloom::study::page {
namespace {

using sweep::ResultTable;
using sweep::Row;
using sweep::Status;

constexpr std::size_t kCellText = 80;
constexpr std::size_t kMaxKeys = 16;
constexpr std::size_t kMessages = 12;
constexpr std::size_t kMessageText = 300;
constexpr std::size_t kBaseText = 6000;

std::vector<Row> all_rows(const ResultTable& table) {
  std::vector<Row> rows(table.rows());
  for (Row row = 0; row < rows.size(); ++row) rows[row] = row;
  return rows;
}

/// Columns of tables of points.
class PointColumns {
 public:
  PointColumns(const ResultTable& table, std::vector<std::string> first_keys,
               std::vector<std::string> first_metrics)
      : table_(table),
        keys_(std::move(first_keys)),
        metrics_(std::move(first_metrics)),
        unit_(table.time_unit()) {
    for (std::string& key : varying_keys(table))
      if (keys_.size() < kMaxKeys && std::find(keys_.begin(), keys_.end(), key) == keys_.end())
        keys_.push_back(std::move(key));
    for (const auto& metric : table.metrics())
      if (std::find(metrics_.begin(), metrics_.end(), metric.name) == metrics_.end())
        metrics_.push_back(metric.name);
  }

  void add_titles(std::vector<Column>& columns) const {
    for (const std::string& key : keys_)
      columns.push_back({key, table_.column(key, {}).is_number() ? Align::Right : Align::Left});
    for (const std::string& metric : metrics_) columns.push_back({metric, Align::Right});
    columns.push_back({"point", Align::Right});
  }
  void add_cells(Row row, std::vector<Cell>& cells) const {
    for (const std::string& key : keys_)
      cells.push_back({shortened(table_.column(key, {}).text(row), kCellText)});
    for (const std::string& metric : metrics_)
      cells.push_back({sweep::metric_text(metric, table_.metric(metric, {}), row, unit_)});
    cells.push_back({fmt::format("{}", table_.point(row))});
  }

 private:
  const ResultTable& table_;
  std::vector<std::string> keys_;
  std::vector<std::string> metrics_;
  std::string unit_;
};

std::string percent(std::size_t part, std::size_t whole) {
  return whole == 0 ? ""
                    : fmt::format("{:.1f}%", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace

PageTable points_table(const ResultTable& table, const std::vector<Row>& rows, std::string caption) {
  const PointColumns columns(table, {}, {});
  PageTable out;
  out.caption = std::move(caption);
  out.columns = {{"no.", Align::Right}};
  columns.add_titles(out.columns);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out.rows.push_back({{fmt::format("{}", i + 1)}});
    columns.add_cells(rows[i], out.rows.back());
  }
  return out;
}

PageTable grouped_table(const ResultTable& table, const std::vector<Row>& rows, std::string_view group_by) {
  const PointColumns columns(table, {std::string(group_by)}, {});
  PageTable out;
  columns.add_titles(out.columns);
  for (const Row row : rows) columns.add_cells(row, out.rows.emplace_back());
  return out;
}

PageTable front_table(const ResultTable& table, const std::vector<sweep::FrontPoint>& front,
                      const std::vector<std::string>& metrics, std::string caption) {
  const PointColumns columns(table, {}, metrics);
  const bool ties =
      std::any_of(front.begin(), front.end(), [](const auto& point) { return point.equals > 0; });
  PageTable out;
  out.caption = std::move(caption);
  out.columns = {{"no.", Align::Right}};
  columns.add_titles(out.columns);
  if (ties) out.columns.push_back({"as good", Align::Right});
  for (std::size_t i = 0; i < front.size(); ++i) {
    out.rows.push_back({{fmt::format("{}", i + 1)}});
    columns.add_cells(front[i].row, out.rows.back());
    if (ties)
      out.rows.back().push_back(
          {front[i].equals == 0 ? "" : fmt::format("+{}", count_text(front[i].equals))});
  }
  return out;
}

PageTable sensitivity_table(const std::vector<sweep::Sensitivity>& found, std::string_view metric,
                            std::string_view time_unit) {
  PageTable out;
  out.caption = fmt::format("How far {} moves when one key changes and all others stay, on average", metric);
  out.columns = {{"key", Align::Left},
                 {fmt::format("range of {}", metric), Align::Right},
                 {"relative", Align::Right},
                 {"groups", Align::Right}};
  for (const sweep::Sensitivity& key : found)
    out.rows.push_back({{key.key},
                        {sweep::metric_number(metric, key.mean_range, time_unit)},
                        {fmt::format("{:.1f}%", 100 * key.mean_relative)},
                        {count_text(key.groups)}});
  return out;
}

PageTable status_table(const ResultTable& table) {
  static constexpr std::string_view kMeanings[] = {
      "has an answer", "refused: parameters that its schedule does not take", "its schedule hangs",
      "needs more than memory.limit_bytes", "could not be computed"};
  PageTable out;
  out.columns = {
      {"status", Align::Left}, {"points", Align::Right}, {"share", Align::Right}, {"", Align::Left}};
  out.sortable = false;
  for (std::size_t i = 0; i < table.status_counts().size(); ++i) {
    const std::size_t count = table.status_counts()[i];
    if (count == 0) continue;
    out.rows.push_back({{std::string(name_of(static_cast<Status>(i)))},
                        {count_text(count)},
                        {percent(count, table.rows())},
                        {std::string(kMeanings[i])}});
  }
  return out;
}

PageTable error_table(const ResultTable& table) {
  const std::vector<sweep::ErrorGroup> errors = table.errors();
  PageTable out;
  out.caption = "Messages, alike up to their numbers, most frequent first";
  out.columns = {{"status", Align::Left},
                 {"points", Align::Right},
                 {"first message", Align::Left},
                 {"point", Align::Right}};
  std::size_t rest = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const sweep::ErrorGroup& group = errors[i];
    if (i >= kMessages || group.example.empty()) {
      rest += group.count;
      continue;
    }
    out.rows.push_back({{std::string(name_of(group.status))},
                        {count_text(group.count)},
                        {shortened(group.example, kMessageText)},
                        {fmt::format("{}", table.point(group.first))}});
  }
  if (rest > 0) out.rows.push_back({{"others"}, {count_text(rest)}, {""}, {""}});
  return out;
}

PageTable axes_table(const ResultTable& table) {
  PageTable out;
  out.caption = "Keys and their values";
  out.columns = {{"key", Align::Left}, {"values", Align::Right}, {"", Align::Left}};
  const std::vector<Row> rows = all_rows(table);
  for (const auto& key : table.keys()) {
    const auto values = sweep::levels_of(key.column, rows).example;
    std::string shown;
    for (std::size_t i = 0; i < values.size() && shown.size() < kMessageText; ++i)
      shown += (i == 0 ? "" : ", ") + shortened(key.column.text(values[i]), kCellText);
    if (shown.size() >= kMessageText)
      shown = fmt::format("{} .. {}", shortened(key.column.text(values.front()), kCellText),
                          shortened(key.column.text(values.back()), kCellText));
    out.rows.push_back({{key.name}, {count_text(values.size())}, {std::move(shown)}});
  }
  return out;
}

std::string base_text(const std::string& json) {
  const auto parsed = nlohmann::ordered_json::parse(json, nullptr, false);
  const std::string text = parsed.is_discarded() ? json : parsed.dump(2);
  return text.size() <= kBaseText ? text : text.substr(0, kBaseText) + "\n...";
}

}  // namespace pipeloom::study::page
