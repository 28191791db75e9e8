#include "study/pages/sweep_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/base/text_tools.hpp"
#include "sim/io/json/json_writer.hpp"
#include "study/answers/select.hpp"
#include "study/plots/sweep_map.hpp"
#include "study/plots/sweep_scatter.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::study::page {

Page sweep_page(const std::vector<std::string>& files, const SweepQuestion& question, std::string footer) {
  Page page;
  page.footer = std::move(footer);
  page.style = std::string(scatter_style()) + std::string(map_style());
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string id = files.size() == 1 ? "sweep" : fmt::format("sweep{}", i + 1);
    SweepFindings found = sweep_findings(sweep::ResultTable::read(files[i]), files[i], question, id);
    if (files.size() == 1) {
      page.title = std::move(found.title);
      page.subtitle = std::move(found.subtitle);
      page.lead = std::move(found.lead);
    } else {
      page.title = fmt::format("{} sweeps", files.size());
      found.lead.insert(found.lead.begin(), Paragraph{found.subtitle, Tone::Muted});
      page.sections.push_back({id, fmt::format("{}. {}", i + 1, found.title), std::move(found.lead)});
    }
    for (Section& section : found.sections) {
      if (files.size() > 1) section.heading = fmt::format("{}. {}", i + 1, section.heading);
      page.sections.push_back(std::move(section));
    }
  }
  return page;
}

namespace {

using sweep::ResultTable;
using sweep::Row;
using sweep::Status;

constexpr std::size_t kCellText = 80;
constexpr std::size_t kMaxKeys = 16;
constexpr std::size_t kKeysBeforeMetrics = 4;
constexpr std::size_t kMessages = 12;
constexpr std::size_t kMessageText = 300;
constexpr std::size_t kBaseText = 6000;

std::vector<Row> all_rows(const ResultTable& table) {
  std::vector<Row> rows(table.rows());
  for (Row row = 0; row < rows.size(); ++row) rows[row] = row;
  return rows;
}

/// Columns of tables of points, the most important first: some keys of axes, the metrics that were asked for, then the other keys and metrics,
/// and derived ones. A large number of keys does not push the answer out of sight.
class PointColumns {
 public:
  PointColumns(const ResultTable& table, std::vector<std::string> first_keys,
               const std::vector<std::string>& first_metrics)
      : table_(table), units_(table.units()) {
    std::vector<std::string> keys = std::move(first_keys);
    for (const std::string& key : varying_keys(table)) keys.push_back(key);
    for (std::size_t i = 0; i < std::min(kKeysBeforeMetrics, keys.size()); ++i) add(keys[i], false);
    for (const std::string& metric : first_metrics) add(metric, true);
    for (std::size_t i = 0; i < std::min(kMaxKeys, keys.size()); ++i) add(keys[i], false);
    for (const auto& metric : table.metrics()) add(metric.name, true);
    std::size_t derived = 0;
    for (const auto& key : table.keys())
      if (key.varies && table.is_derived(key.name) && derived++ < kMaxKeys) add(key.name, false);
  }

  void add_titles(std::vector<Column>& columns) const {
    for (const auto& [name, is_metric] : shown_)
      columns.push_back(
          {name, is_metric || table_.column(name, {}).is_number() ? Align::Right : Align::Left});
    columns.push_back({"point", Align::Right});
  }
  void add_cells(Row row, std::vector<Cell>& cells) const {
    for (const auto& [name, is_metric] : shown_)
      cells.push_back({is_metric ? sweep::metric_text(name, table_.metric(name, {}), row, units_)
                                 : shortened(table_.column(name, {}).text(row), kCellText)});
    cells.push_back({fmt::format("{}", table_.point(row))});
  }

 private:
  struct Shown {
    std::string name;
    bool is_metric;
  };

  void add(const std::string& name, bool is_metric) {
    if (std::none_of(shown_.begin(), shown_.end(),
                     [&](const Shown& shown) { return shown.name == name && shown.is_metric == is_metric; }))
      shown_.push_back({name, is_metric});
  }

  const ResultTable& table_;
  sweep::ValueUnits units_;
  std::vector<Shown> shown_;
};

/// "1, 2, 4", or "1 .. 96" where they are many.
std::string values_text(const sweep::Column& column, const std::vector<Row>& examples) {
  std::string out;
  for (std::size_t i = 0; i < examples.size() && out.size() < kMessageText; ++i)
    out += (i == 0 ? "" : ", ") + shortened(column.text(examples[i]), kCellText);
  if (out.size() < kMessageText) return out;
  return fmt::format("{} .. {}", shortened(column.text(examples.front()), kCellText),
                     shortened(column.text(examples.back()), kCellText));
}

}  // namespace

PageTable points_table(const ResultTable& table, const std::vector<Row>& rows,
                       const std::vector<std::string>& metrics) {
  const PointColumns columns(table, {}, metrics);
  PageTable out;
  out.headings = 2;
  out.columns = {{"no.", Align::Right}};
  columns.add_titles(out.columns);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out.rows.push_back({{fmt::format("{}", i + 1)}});
    columns.add_cells(rows[i], out.rows.back());
  }
  return out;
}

PageTable grouped_table(const ResultTable& table, const std::vector<Row>& rows, std::string_view group_by,
                        const std::vector<std::string>& metrics) {
  const PointColumns columns(table, {std::string(group_by)}, metrics);
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
  out.headings = 2;
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
                            const sweep::ValueUnits& units) {
  PageTable out;
  out.caption =
      fmt::format("How far {} moves when one key changes and all other axes stay, on average", metric);
  out.columns = {{"key", Align::Left},
                 {fmt::format("range of {}", metric), Align::Right},
                 {"relative", Align::Right},
                 {"groups", Align::Right}};
  for (const sweep::Sensitivity& key : found)
    out.rows.push_back({{key.key},
                        {sweep::metric_number(metric, key.mean_range, units)},
                        {percent_text(key.mean_relative)},
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
    out.rows.push_back(
        {{std::string(name_of(static_cast<Status>(i)))},
         {count_text(count)},
         {table.rows() == 0 ? ""
                            : percent_text(static_cast<double>(count) / static_cast<double>(table.rows()))},
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
  out.caption = "Keys of the axes and their values";
  out.columns = {{"key", Align::Left}, {"values", Align::Right}, {"", Align::Left}};
  const std::vector<Row> rows = all_rows(table);
  for (const auto& key : table.keys()) {
    if (table.is_derived(key.name)) continue;
    const auto values = sweep::levels_of(key.column, rows).example;
    out.rows.push_back({{key.name}, {count_text(values.size())}, {values_text(key.column, values)}});
  }
  return out;
}

std::vector<std::string> zip_notes(const ResultTable& table) {
  std::vector<std::string> out;
  for (const auto& axis : table.axes())
    if (axis.size() > 1) out.push_back(fmt::format("{} change together.", fmt::join(axis, " and ")));
  return out;
}

std::vector<std::string> derived_notes(const ResultTable& table) {
  std::vector<std::string> out;
  const std::vector<Row> rows = all_rows(table);
  for (const auto& key : table.keys())
    if (table.is_derived(key.name))
      out.push_back(fmt::format("Derived: {}, {}.", key.name,
                                values_text(key.column, sweep::levels_of(key.column, rows).example)));
  return out;
}

std::string base_text(const std::string& json) {
  const std::optional<io::Value> parsed = io::read_json(json);
  const std::string text =
      parsed ? io::written_json(io::kSettingsStyle, [&](io::JsonWriter& out) { out.value(*parsed); }) : json;
  return text.size() <= kBaseText ? text : text.substr(0, kBaseText) + "\n...";
}

}  // namespace pipeloom::study::page
