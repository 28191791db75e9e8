#include "sim/io/config/cost_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/base/number_text.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/json/file.hpp"
#include "sim/kinds.hpp"
#include "sim/text.hpp"

namespace pipeloom::io {
namespace {

using cost::CostRow;

/// The columns that name ops, in addition to their kind, in the order in which rows are written.
struct RowIndex {
  std::string_view name;
  std::optional<std::int32_t> CostRow::*member;
};
constexpr std::array<RowIndex, 4> kRowIndices = {{{"stage", &CostRow::stage},
                                                  {"rank", &CostRow::rank},
                                                  {"microbatch", &CostRow::microbatch},
                                                  {"slice", &CostRow::slice}}};
constexpr std::string_view kKindName = "kind";
constexpr std::string_view kTimeName = "time";
constexpr std::string_view kFactorName = "factor";
constexpr std::string_view kGroupName = "overlapped";
constexpr std::size_t kShownCell = 40;
constexpr std::string_view kRowsByteOrderMark = "\xEF\xBB\xBF";  // that spreadsheets put before UTF-8

std::string kinds_allowed() {
  std::string out;
  for (const KindRow& row : kKinds) out += (out.empty() ? "" : ", ") + std::string(1, row.letter);
  return out;
}

OpKind kind_of(std::string_view text, const Where& where) {
  const auto kind = text.size() == 1 ? kind_of_letter(text[0]) : std::nullopt;
  if (kind) return *kind;
  throw InputError(where, fmt::format("kind is '{}'; it must be one of {}",
                                      shortened(std::string(text), kShownCell), kinds_allowed()));
}

std::int32_t index_of_row(std::string_view text, std::string_view name, const Where& where) {
  const auto number = parse_fixed(text, 1);
  if (!number || number->rounded || number->value < 0 || number->value >= kMaxIndex)
    throw InputError(where, fmt::format("{} is '{}'; it must be a whole number from 0 to {}", name,
                                        shortened(std::string(text), kShownCell), kMaxIndex - 1));
  return static_cast<std::int32_t>(number->value);
}

void read_member(CostRow& row, std::string_view name, const Value& value, const ReadContext& context) {
  if (name == kKindName) {
    if (!value.is(ValueKind::String)) refuse_value(value, name, fmt::format("one of {}", kinds_allowed()));
    row.kind = kind_of(value.text(), value.where());
    return;
  }
  for (const RowIndex& index : kRowIndices)
    if (name == index.name) {
      if (!value.is(ValueKind::Number)) refuse_value(value, name, "a whole number of 0 or more");
      row.*index.member = index_of_row(value.text(), name, value.where());
      return;
    }
  row.is_factor = name == kFactorName;
  row.of_group = name == kGroupName;
  row.number = row.is_factor ? scale_of(value, name, context) : time_of(value, name, context);
}

std::vector<std::string> names_of(RowNumber number) {
  std::vector<std::string> names{std::string(kKindName)};
  for (const RowIndex& index : kRowIndices) names.emplace_back(index.name);
  names.emplace_back(kTimeName);
  if (number == RowNumber::Time) return names;
  names.emplace_back(kFactorName);
  names.emplace_back(kGroupName);
  return names;
}

/// A pair is named by its forward, and has no slices' times.
void require_names_groups(const CostRow& row) {
  if (row.kind.value_or(OpKind::Forward) != OpKind::Forward)
    throw InputError(
        row.where,
        fmt::format("a pair is named by its forward: with \"{}\" the kind is F, or left out", kGroupName));
  if (row.slice)
    throw InputError(row.where,
                     fmt::format("\"{}\" is the time of whole pairs; leave the slice out", kGroupName));
}

CostRow row_of(const Value& value, const ReadContext& context, RowNumber number) {
  if (!value.is(ValueKind::Object))
    refuse_value(value, fmt::format("a row of {}", context.key.path),
                 "an object such as {\"kind\": \"F\", \"stage\": 3, \"time\": 1.5}");
  const std::vector<std::string> names = names_of(number);
  CostRow row;
  row.where = value.where();
  int numbers = 0;
  for (std::size_t i = 0; i < value.keys().size(); ++i) {
    const std::string& name = value.keys()[i].name;
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw InputError::unknown_name(value.where_key(i), fmt::format("key of a row of {}", context.key.path),
                                     shortened(name, 64), names);
    if (name == kTimeName || name == kFactorName || name == kGroupName) ++numbers;
    read_member(row, name, value.items()[i], context);
  }
  if (numbers != 1)
    throw InputError(
        row.where, number == RowNumber::Time
                       ? fmt::format("a row of {} has no \"time\"; give it", context.key.path)
                       : fmt::format("a row of {} needs \"time\", \"factor\" or \"overlapped\", one of them",
                                     context.key.path));
  if (row.of_group) require_names_groups(row);
  return row;
}

/// Collects warnings from reading many rows, to report them in one line.
class OneWarning {
 public:
  explicit OneWarning(const ReadContext& all) : all_(all), own_{all.key, all.unit, warnings_} {}
  OneWarning(const OneWarning&) = delete;
  OneWarning& operator=(const OneWarning&) = delete;

  [[nodiscard]] const ReadContext& context() const { return own_; }
  void say() {
    if (warnings_.empty()) return;
    std::string& first = warnings_.front();
    if (warnings_.size() > 1)
      first += fmt::format("; so were {} more of {}", warnings_.size() - 1, all_.key.path);
    all_.warnings.push_back(std::move(first));
  }

 private:
  const ReadContext& all_;
  std::vector<std::string> warnings_ = {};
  ReadContext own_;
};

/// The cells of a line, blanks around them and a carriage return at the end taken off.
std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (std::size_t begin = 0;;) {
    const std::size_t comma = std::min(line.find(',', begin), line.size());
    std::string_view cell = line.substr(begin, comma - begin);
    while (!cell.empty() && (cell.front() == ' ' || cell.front() == '\t')) cell.remove_prefix(1);
    while (!cell.empty() && (cell.back() == ' ' || cell.back() == '\t' || cell.back() == '\r'))
      cell.remove_suffix(1);
    cells.push_back(cell);
    if (comma == line.size()) return cells;
    begin = comma + 1;
  }
}

/// Reads the lines of a table of comma-separated values.
class CsvRows {
 public:
  CsvRows(std::string file, const ReadContext& context) : file_(std::move(file)), context_(context) {}

  std::vector<CostRow> read(std::string_view text) {
    std::vector<CostRow> rows;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      ++line_;
      const std::vector<std::string_view> cells = cells_of(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      if (cells.size() == 1 && cells[0].empty()) continue;
      if (names_.empty())
        take_names(cells);
      else
        rows.push_back(row_of(cells));
    }
    if (names_.empty())
      throw InputError(Where{file_},
                       "the table is empty; its first line names the columns, such as kind,stage,time");
    return rows;
  }

 private:
  void take_names(const std::vector<std::string_view>& cells) {
    const std::vector<std::string> valid = names_of(RowNumber::Time);
    for (const std::string_view cell : cells) {
      if (std::find(valid.begin(), valid.end(), cell) == valid.end())
        throw InputError::unknown_name(place(), "column", shortened(std::string(cell), 64), valid);
      if (std::find(names_.begin(), names_.end(), cell) != names_.end())
        throw InputError(place(), fmt::format("column '{}' stands twice; leave one out",
                                              shortened(std::string(cell), kShownCell)));
      names_.emplace_back(cell);
    }
    if (std::find(names_.begin(), names_.end(), kTimeName) == names_.end())
      throw InputError(place(),
                       "there is no column 'time'; the first line names the columns: kind, stage, rank, "
                       "microbatch, slice (any of them) and time");
  }

  CostRow row_of(const std::vector<std::string_view>& cells) {
    if (cells.size() != names_.size())
      throw InputError(place(),
                       fmt::format("the line has {} cells, but the first line names {}; give one for each "
                                   "(an empty one names all)",
                                   cells.size(), names_.size()));
    CostRow row;
    row.where = place();
    for (std::size_t i = 0; i < cells.size(); ++i) take(row, names_[i], cells[i]);
    return row;
  }

  void take(CostRow& row, std::string_view name, std::string_view cell) {
    if (name == kTimeName) {
      row.number = time_of_cell(cell);
    } else if (cell.empty()) {
      return;
    } else if (name == kKindName) {
      row.kind = kind_of(cell, place());
    } else {
      for (const RowIndex& index : kRowIndices)
        if (name == index.name) row.*index.member = index_of_row(cell, name, place());
    }
  }

  Ticks time_of_cell(std::string_view cell) {
    const auto literal = parse_time_literal(std::string(cell));
    const auto number =
        literal && context_.unit != TimeUnit::Unit ? literal : parse_fixed(cell, ticks_per(context_.unit));
    if (!number || number->value < 0)
      throw InputError(
          place(), fmt::format("time is '{}'; it must be a time of 0 or more{}",
                               shortened(std::string(cell), kShownCell),
                               literal ? "; costs.time_unit \"unit\" has no length, so no unit goes with it"
                                       : ", such as 23.6"));
    if (number->rounded)
      context_.warnings.push_back(rounded_warning(place(), "time", shortened(std::string(cell), kShownCell)));
    return number->value;
  }

  [[nodiscard]] Where place() const { return {file_, line_, 0}; }

  std::string file_;
  const ReadContext& context_;
  int line_ = 0;
  std::vector<std::string> names_;
};

/// A JSON array of the lines, each at its place in the file.
std::string array_of_lines(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  std::string out = "[";
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out.append(text, begin, end - begin);
    if (end < text.size()) out += ",\n";
    begin = end + 1;
  }
  return out + "]";
}

/// Without a byte order mark.
std::string text_of_file(const Value& name, std::string_view key) {
  const std::string path = relative_to(name.where().file, name.text());
  try {
    std::string text = read_file(path);
    if (text.starts_with(kRowsByteOrderMark)) text.erase(0, kRowsByteOrderMark.size());
    return text;
  } catch (const InputError& error) {
    throw InputError(name.where(),
                     fmt::format("{} names the file '{}': {}", key, shortened(path, 64), error.what()));
  }
}

}  // namespace

cost::CostRows rows_of(const Value& array, const ReadContext& context, RowNumber number) {
  if (!array.is(ValueKind::Array))
    refuse_value(array, context.key.path, std::string(context.key.form->kinds_text));
  OneWarning warning(context);
  auto rows = std::make_shared<std::vector<CostRow>>();
  for (const Value& item : array.items()) rows->push_back(row_of(item, warning.context(), number));
  warning.say();
  return rows;
}

Document document_of_file(const Value& name, std::string_view key) {
  const std::string path = relative_to(name.where().file, name.text());
  std::string text = text_of_file(name, key);
  return Document::parse(path.ends_with(".json") ? text : array_of_lines(std::move(text)), path);
}

bool file_has_time_literal(const Value& name) {
  constexpr std::string_view kBetween = "\",:{}[] \t\r\n";
  std::string text;
  try {
    text = read_file(relative_to(name.where().file, name.text()));
  } catch (const Error&) {
    return false;
  }
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of(kBetween, begin), text.size());
    if (parse_time_literal(std::string_view(text).substr(begin, end - begin))) return true;
    begin = end + 1;
  }
  return false;
}

cost::CostRows rows_of_file(const Value& name, const ReadContext& context) {
  if (!name.text().ends_with(".csv"))
    return rows_of(document_of_file(name, context.key.path).root(), context, RowNumber::Time);
  const std::string path = relative_to(name.where().file, name.text());
  OneWarning warning(context);
  CsvRows reader(path, warning.context());
  auto rows = std::make_shared<std::vector<CostRow>>(reader.read(text_of_file(name, context.key.path)));
  warning.say();
  return rows;
}

void write_rows(TextWriter& out, const std::vector<cost::CostRow>& rows, TimeUnit unit) {
  out << '[';
  for (const CostRow& row : rows) {
    out << (&row == rows.data() ? "{" : ", {");
    if (row.kind) out << "\"kind\": \"" << letter_of(*row.kind) << "\", ";
    for (const RowIndex& index : kRowIndices)
      if (row.*index.member) out << '"' << index.name << "\": " << *(row.*index.member) << ", ";
    out << '"' << (row.is_factor ? kFactorName : row.of_group ? kGroupName : kTimeName) << "\": ";
    out.ticks(row.number, row.is_factor ? TimeUnit::Unit : unit) << '}';
  }
  out << ']';
}

}  // namespace pipeloom::io
