#include "study/sweep/result/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sim/base/text_tools.hpp"
#include "sim/io/json/json_value.hpp"

namespace pipeloom::sweep {
namespace {

Status status_named(std::string_view name, const Where& where) {
  for (const Status status : study::kAllStatuses)
    if (name_of(status) == name) return status;
  std::vector<std::string> valid;
  for (const Status status : study::kAllStatuses) valid.emplace_back(name_of(status));
  throw InputError::unknown_name(where, "status", name, valid);
}

/// The text with every number replaced by '#'.
std::string shape_of(std::string_view text) {
  std::string out;
  bool in_number = false;
  for (const char c : text) {
    const bool digit = (c >= '0' && c <= '9') || (in_number && c == '.');
    if (!digit) out += c;
    if (digit && !in_number) out += '#';
    in_number = digit;
  }
  return out;
}

/// A line of a result takes this many bytes at least: how many rows a file can have at most.
constexpr std::uint64_t kLeastLine = 60;

std::size_t expected_rows(const std::string& path, const Header& header) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) return 0;
  std::uint64_t rows = std::min<std::uint64_t>(header.points, size / kLeastLine);
  if (header.shard) rows /= static_cast<std::uint64_t>(std::max(header.shard->count, 1));
  return static_cast<std::size_t>(rows);
}

/// Axes of a header: {"key": "ranks", "points": 3}, {"keys": ["ranks", "microbatches"], ..}, or arrays of these for a union.
void add_axes(const io::Value& value, std::vector<std::vector<std::string>>& out) {
  if (value.is(io::ValueKind::Array))
    for (const io::Value& part : value.items()) add_axes(part, out);
  std::vector<std::string> keys;
  if (const io::Value* key = value.find("key")) keys.push_back(key->text());
  if (const io::Value* together = value.find("keys"))
    for (const io::Value& key : together->items()) keys.push_back(key.text());
  if (!keys.empty() && std::find(out.begin(), out.end(), keys) == out.end()) out.push_back(std::move(keys));
}

bool holds(const std::vector<std::string>& keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

constexpr std::size_t kRowsBetweenQuestions = 1024;
constexpr std::size_t kMaxGroupedText = 400;

}  // namespace

bool looks_like_result(std::string_view text) {
  if (text.starts_with("# ")) text.remove_prefix(2);
  return text.starts_with(R"({"sweep": {)");
}

bool is_result_file(const std::string& path) {
  constexpr std::size_t kBeginning = 64;
  // A pipe could not be read again.
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return false;
  std::ifstream in(path, std::ios::binary);
  std::string text(kBeginning, '\0');
  in.read(text.data(), static_cast<std::streamsize>(kBeginning));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return looks_like_result(text);
}

ResultTable::ResultTable(Header header) : header_(std::move(header)) {
  for (const std::string& name : header_.metrics) metrics_.push_back({name, {}, false});
  if (!header_.axes_json.empty()) add_axes(io::Document::parse(header_.axes_json, "axes").root(), axes_);
}

ResultTable ResultTable::read(const std::string& path, const std::function<bool()>& stop) {
  ResultReader reader(path);
  ResultTable table(reader.header());
  table.expected_rows_ = expected_rows(path, table.header_);
  table.points_.reserve(table.expected_rows_);
  table.statuses_.reserve(table.expected_rows_);
  for (NamedColumn& metric : table.metrics_) metric.column.reserve(table.expected_rows_);
  ResultLine line;
  while (reader.next(line)) {
    if (stop && table.rows() % kRowsBetweenQuestions == 0 && stop()) break;
    table.add(line, reader.where());
  }
  table.finish();
  return table;
}

void ResultTable::add(const ResultLine& line, const Where& where) {
  const Status status = status_named(line.status, where);
  points_.push_back(line.point);
  statuses_.push_back(status);
  ++status_counts_[static_cast<std::size_t>(status)];
  for (std::size_t i = 0; i < line.config.size(); ++i)
    add_value(keys_, i, line.config[i].first, line.config[i].second);
  for (std::size_t i = 0; i < line.metrics.size(); ++i)
    add_value(metrics_, i, line.metrics[i].first, line.metrics[i].second);
  for (auto* columns : {&keys_, &metrics_})
    for (NamedColumn& named : *columns) {
      if (named.column.size() < rows()) named.column.add_missing();
      if (!named.varies)
        named.varies = named.column.bits(static_cast<Row>(rows() - 1)) != named.column.bits(0);
    }
  if (status != Status::Ok) add_error(status, line.error);
}

void ResultTable::add_value(std::vector<NamedColumn>& columns, std::size_t hint, std::string_view name,
                            std::string_view json) const {
  std::size_t at = hint;
  if (at >= columns.size() || columns[at].name != name)
    for (at = 0; at < columns.size() && columns[at].name != name;) ++at;
  if (at == columns.size()) {
    columns.push_back({std::string(name), {}, false});
    columns[at].column.reserve(expected_rows_);
    while (columns[at].column.size() + 1 < rows()) columns[at].column.add_missing();
  }
  if (columns[at].column.size() < rows()) columns[at].column.add(json);
}

void ResultTable::add_error(Status status, std::string_view text) {
  std::string shape = fmt::format("{} {}", name_of(status), shape_of(text));
  const auto known = error_of_.find(shape);
  if (known != error_of_.end()) {
    ++errors_[known->second].count;
  } else if (errors_.size() < kMaxErrorGroups) {
    error_of_.emplace(std::move(shape), errors_.size());
    errors_.push_back({status, shortened(text, kMaxGroupedText), static_cast<Row>(rows() - 1), 1});
  } else {
    ++other_errors_;
  }
}

void ResultTable::finish() {
  for (auto* columns : {&keys_, &metrics_})
    for (NamedColumn& named : *columns) named.column.shrink();
  points_.shrink_to_fit();
  statuses_.shrink_to_fit();
}

std::vector<std::vector<std::string>> ResultTable::axes() const {
  if (!axes_.empty()) return axes_;
  std::vector<std::vector<std::string>> out;
  for (const NamedColumn& key : keys_) out.push_back({key.name});
  return out;
}

bool ResultTable::is_derived(std::string_view key) const {
  return !axes_.empty() &&
         std::none_of(axes_.begin(), axes_.end(), [&](const auto& axis) { return holds(axis, key); });
}

bool ResultTable::move_together(std::string_view key, std::string_view other) const {
  return std::any_of(axes_.begin(), axes_.end(),
                     [&](const auto& axis) { return holds(axis, key) && holds(axis, other); });
}

const Column* ResultTable::find(std::string_view name) const {
  for (const auto* columns : {&keys_, &metrics_})
    for (const NamedColumn& named : *columns)
      if (named.name == name) return &named.column;
  return nullptr;
}

const Column& ResultTable::column(std::string_view name, const Where& where) const {
  if (const Column* column = find(name)) return *column;
  std::vector<std::string> valid;
  for (const auto* columns : {&keys_, &metrics_})
    for (const NamedColumn& named : *columns) valid.push_back(named.name);
  throw InputError::unknown_name(where, "key or metric of this result", shortened(name, 64), valid);
}

const Column& ResultTable::metric(std::string_view name, const Where& where) const {
  std::vector<std::string> valid;
  for (const NamedColumn& named : metrics_) {
    if (named.name == name) return named.column;
    valid.push_back(named.name);
  }
  throw InputError::unknown_name(where, "metric of this result", shortened(name, 64), valid);
}

std::vector<ErrorGroup> ResultTable::errors() const {
  std::vector<ErrorGroup> out = errors_;
  std::stable_sort(out.begin(), out.end(),
                   [](const ErrorGroup& a, const ErrorGroup& b) { return a.count > b.count; });
  if (other_errors_ > 0) out.push_back({Status::Failed, "", 0, other_errors_});
  return out;
}

namespace {

/// Keys of "memory" that give no size.
bool gives_size(std::string_view key) {
  return key.starts_with("memory.") && key != "memory.limit_bytes" && key != "memory.per";
}

}  // namespace

ValueUnits ResultTable::units() const {
  const auto base = io::Document::parse(header_.base_json, "base");
  const auto said = [&base](const char* group, const char* key) -> const io::Value* {
    const io::Value* of_group = base.root().find(group);
    return of_group == nullptr || !of_group->is(io::ValueKind::Object) ? nullptr : of_group->find(key);
  };
  ValueUnits out;
  const io::Value* const unit = said("costs", "time_unit");
  if (unit != nullptr) out.time = unit->text();
  if (const Column* units = find("costs.time_unit")) {
    out.time = rows() == 0 ? "" : units->text(0);
    for (Row row = 1; row < rows(); ++row)
      if (units->bits(row) != units->bits(0)) out.time = "";
  }
  if (out.time == "unit") out.time = "";
  out.activations =
      said("costs", "model") == nullptr && find("costs.model") == nullptr && find("costs") == nullptr &&
      std::none_of(keys_.begin(), keys_.end(),
                   [](const NamedColumn& key) { return gives_size(key.name) || key.name == "memory"; });
  if (const io::Value* memory = base.root().find("memory");
      memory != nullptr && memory->is(io::ValueKind::Object))
    for (const auto& key : memory->keys())
      out.activations = out.activations && !gives_size("memory." + key.name);
  return out;
}

io::Document ResultTable::document(Row row) const {
  io::Document document = io::Document::parse(header_.base_json, "base");
  for (const NamedColumn& key : keys_)
    if (key.column.has(row)) document.set(key.name, key.column.json(row), key.name);
  return document;
}

std::string ResultTable::title(Row row) const {
  const auto listed = [&](bool everything) {
    std::string out;
    for (const NamedColumn& key : keys_) {
      if (!key.column.has(row) || !(everything || (key.varies && !is_derived(key.name)))) continue;
      if (!out.empty()) out += ", ";
      if (key.name != "schedule") out += key.name + ' ';
      out += key.column.text(row);
    }
    return out;
  };
  const std::string title = listed(false);
  return title.empty() ? listed(true) : title;
}

std::size_t ResultTable::bytes() const {
  std::size_t total = points_.capacity() * sizeof(points_[0]) + statuses_.capacity() * sizeof(statuses_[0]);
  for (const auto* columns : {&keys_, &metrics_})
    for (const NamedColumn& named : *columns) total += named.column.bytes();
  for (const ErrorGroup& group : errors_) total += 2 * (sizeof group + group.example.capacity());
  return total;
}

}  // namespace pipeloom::sweep
