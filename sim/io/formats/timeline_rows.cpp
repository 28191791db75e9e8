#include "sim/io/formats/timeline_rows.hpp"

#include <fmt/format.h>

#include <charconv>

#include <pipeloom/schedule.hpp>
#include "sim/base/text_cursor.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/json/json_text.hpp"
#include "sim/io/json/json_value.hpp"

namespace pipeloom::io {
namespace {

constexpr std::string_view kBlank = " \t\r";
constexpr std::size_t kShown = 40;

struct FieldName {
  std::string_view name;
  RowReader::Field field;
};
constexpr FieldName kFields[] = {{"rank", RowReader::Rank},
                                 {"op", RowReader::Op},
                                 {"start", RowReader::Start},
                                 {"end", RowReader::End},
                                 {"step", RowReader::Step}};

std::string_view name_of(unsigned field) {
  for (const FieldName& one : kFields)
    if (one.field == field) return one.name;
  return {};
}

/// Calls fn(line number, line without its end) for every line that is not blank.
template <class Fn>
void for_each_line(std::string_view text, Fn&& fn) {
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (!trimmed(line).empty()) fn(number, line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// A flat JSON object on one line: names, numbers, strings without escapes.
class ObjectScanner {
 public:
  ObjectScanner(std::string_view line, const RowReader& reader) : cursor_(line), reader_(&reader) {}

  /// Calls fn(name, value, column of the value) for every member.
  template <class Fn>
  void members(Fn&& fn) {
    expect('{', "an object, one per line");
    if (take('}')) return end();
    do {
      const std::string_view name = string();
      expect(':', "':' behind the name");
      skip_blank();
      const std::size_t column = cursor_.at() + 1;
      fn(name, cursor_.peek() == '"' ? string() : bare(), column);
    } while (take(','));
    expect('}', "',' or '}'");
    end();
  }

 private:
  void skip_blank() { cursor_.skip_blanks(kBlank); }
  bool take(char c) {
    skip_blank();
    return cursor_.take(c);
  }
  [[noreturn]] void fail(std::string_view wanted) const {
    const std::string found = cursor_.at_end()
                                  ? "the end of the line"
                                  : fmt::format("'{}'", shortened(cursor_.rest().substr(0, 8), 8));
    throw InputError(
        reader_->at(cursor_.at() + 1),
        fmt::format(
            "found {} where {} is expected; write rows such as {{\"rank\":0,\"op\":\"0F0\",\"start\":0,"
            "\"end\":1}}",
            found, wanted));
  }
  void expect(char c, std::string_view wanted) {
    if (!take(c)) fail(wanted);
  }
  void end() {
    skip_blank();
    if (!cursor_.at_end()) fail("nothing more");
  }
  std::string_view string() {
    if (!take('"')) fail("a name in quotes");
    const std::string_view found = cursor_.take_word([](char c) { return c != '"' && c != '\\'; });
    if (!cursor_.take('"')) fail("a text without escapes and its closing quote");
    return found;
  }
  std::string_view bare() {
    const std::string_view found = cursor_.take_word(
        [](char c) { return c != ',' && c != '}' && kBlank.find(c) == std::string_view::npos; });
    if (found.empty()) fail("a value");
    return found;
  }

  TextCursor cursor_;
  const RowReader* reader_;
};

TimeUnit unit_named(std::string_view text, const Where& where) {
  if (const auto unit = time_unit_named(text)) return *unit;
  throw InputError::unknown_name(where, "time unit", text, {"unit", "s", "ms", "us", "ns"});
}

}  // namespace

unsigned RowReader::field_named(std::string_view name) {
  for (const FieldName& field : kFields)
    if (field.name == name) return field.field;
  return 0;
}

std::int32_t RowReader::number(std::string_view text, std::string_view what, std::size_t column) const {
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0 || value >= kMaxIndex)
    throw InputError(at(column), fmt::format("{} is '{}'; allowed is a whole number from 0 to {}", what,
                                             shortened(text, kShown), kMaxIndex - 1));
  return value;
}

Ticks RowReader::time(std::string_view text, std::string_view what, std::size_t column) {
  const auto ticks = parse_ticks(text, unit_);
  // Half the range each, so that differences of two fit.
  if (!ticks || ticks->value > kMaxTicks / 2 || ticks->value < -kMaxTicks / 2) {
    const Ticks most = kMaxTicks / 2 / ticks_per(unit_);
    throw InputError(at(column), fmt::format("{} is '{}'; allowed is a decimal number from -{} to {} in {}",
                                             what, shortened(text, kShown), most, most, name_of(unit_)));
  }
  if (ticks->rounded && num_rounded_++ == 0)
    first_rounded_ = rounded_warning(at(column), what, shortened(text, kShown));
  return ticks->value;
}

std::string RowReader::rounded() const {
  if (num_rounded_ < 2) return first_rounded_;
  return fmt::format("{}, and so {} {} more", first_rounded_, num_rounded_ == 2 ? "was" : "were",
                     num_rounded_ - 1);
}

void RowReader::set(unsigned field, std::string_view text, std::size_t column) {
  if ((seen_ & field) != 0)
    throw InputError(at(column), fmt::format("the row has {} twice; keep one of them", name_of(field)));
  seen_ |= field;
  switch (field) {
    case Rank:
      row_.rank = number(text, "rank", column);
      break;
    case Step:
      row_.step = number(text, "step", column);
      break;
    case Start:
      row_.start = time(text, "start", column);
      break;
    case End:
      row_.end = time(text, "end", column);
      break;
    default:
      const auto op = parse_op(text);
      if (!op)
        throw InputError(at(column),
                         fmt::format("'{}' is no op; an op is stage, kind and microbatch, such as 0F7",
                                     shortened(text, kShown)));
      row_.op = *op;
  }
}

TimelineRow RowReader::finish() const {
  const Where row{where_.file, static_cast<int>(row_.line), 1};
  if ((seen_ & kNeeded) != kNeeded)
    for (const FieldName& field : kFields)
      if ((seen_ & field.field) == 0)
        throw InputError(
            row, fmt::format("the row has no {}; every row needs rank, op, start and end", field.name));
  if (row_.end < row_.start)
    throw InputError(row, fmt::format("{} ends before it starts; correct one of the times, or swap them",
                                      to_text(row_.op)));
  return row_;
}

TimelineRows read_jsonl_rows(std::string_view text, const std::string& name, TimeUnit unit) {
  TimelineRows out;
  out.unit = unit;
  RowReader reader(Where{name}, unit);
  bool first = true;
  for_each_line(text, [&](int number, std::string_view line) {
    reader.begin(number);
    bool is_header = false;
    ObjectScanner(line, reader)
        .members([&](std::string_view key, std::string_view value, std::size_t column) {
          if (first && key == "time_unit") {
            out.unit = unit_named(value, reader.at(column));
            reader.set_unit(out.unit);
            is_header = true;
            return;
          }
          if (is_header && key == "partial") {
            out.partial = value;
            return;
          }
          const unsigned field = RowReader::field_named(key);
          if (field == 0)
            throw InputError::unknown_name(reader.at(column), "field", key,
                                           {"step", "rank", "op", "start", "end"});
          reader.set(field, value, column);
        });
    first = false;
    if (!is_header) out.rows.push_back(reader.finish());
  });
  out.rounded = reader.rounded();
  return out;
}

TimelineRows read_csv_rows(std::string_view text, const std::string& name, TimeUnit unit) {
  TimelineRows out;
  out.unit = unit;
  RowReader reader(Where{name}, unit);
  std::vector<unsigned> columns;
  for_each_line(text, [&](int number, std::string_view line) {
    reader.begin(number);
    const bool header = columns.empty();
    std::size_t cell = 0;
    for (std::size_t begin = 0; begin <= line.size(); ++cell) {
      const std::size_t end = std::min(line.find(',', begin), line.size());
      const std::string_view value = trimmed(line.substr(begin, end - begin));
      if (header) {
        columns.push_back(RowReader::field_named(value));
        if (columns.back() == 0)
          throw InputError::unknown_name(reader.at(begin + 1), "column", value,
                                         {"step", "rank", "op", "start", "end"});
      } else if (cell < columns.size()) {
        reader.set(columns[cell], value, begin + 1);
      } else {
        throw InputError(
            reader.at(begin + 1),
            fmt::format("more cells than the {} of the header; leave them out, or name their columns there",
                        columns.size()));
      }
      begin = end + 1;
    }
    if (!header) out.rows.push_back(reader.finish());
  });
  out.rounded = reader.rounded();
  return out;
}

TimelineRows read_report_rows(std::string_view text, const std::string& name) {
  const Document document = Document::parse(text, name);
  const Value* timeline = document.root().find("timeline");
  if (timeline == nullptr || !timeline->is(ValueKind::Array))
    throw InputError(
        Where{name},
        "this is a report without a timeline; write it with `pipeloom simulate --json --include timeline`");
  TimelineRows out;
  if (const Value* unit = document.root().find("time_unit"))
    out.unit = unit_named(unit->text(), unit->where());
  RowReader reader(Where{name}, out.unit);
  for (const Value& row : timeline->items()) {
    reader.begin(row.where().line);
    for (std::size_t i = 0; i < row.keys().size(); ++i) {
      const Where where = row.items()[i].where();
      const unsigned field = RowReader::field_named(row.keys()[i].name);
      if (field == 0)
        throw InputError::unknown_name(where, "field", row.keys()[i].name,
                                       {"step", "rank", "op", "start", "end"});
      reader.go_to(where.line);
      reader.set(field, row.items()[i].text(), static_cast<std::size_t>(where.column));
    }
    out.rows.push_back(reader.finish());
  }
  out.rounded = reader.rounded();
  return out;
}

}  // namespace pipeloom::io
