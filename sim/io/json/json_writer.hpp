#pragma once

// JSON that is written call by call: objects, arrays, keys and values, with the commas, brackets and line ends in between.

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "sim/io/json/json_value.hpp"
#include "sim/io/json/text_writer.hpp"

namespace pipeloom::io {

/// Layout of a document. Levels count from 1: the outermost container is level 1.
struct JsonStyle {
  JsonSpelling spelling = JsonSpelling::Report;
  bool blanks = true;  ///< after ',' and ':' of containers on one line: {"a": [1, 2]}, else {"a":[1,2]}
  int lines =
      0;  ///< containers of levels 1 to `lines` give each entry a line of its own, two blanks deeper than their own
  int closing = 0;   ///< containers of levels 1 to `closing` close on a line of their own
  int left_out = 0;  ///< blanks that every line has fewer in front than its level says
};

/// {"a": 1, "b": [2, 3]}, with line ends where line() asks for them.
inline constexpr JsonStyle kReportStyle{};
/// {"a":1.0,"b":[2,3]}
inline constexpr JsonStyle kPackedStyle{JsonSpelling::Window, false, 0, 0, 0};
/// Every entry on a line of its own.
inline constexpr JsonStyle kSettingsStyle{JsonSpelling::Window, true, 1 << 20, 1 << 20, 0};

/// Writes one document onto a TextWriter, which may be written to in between as long as the result is JSON.
///
///     json.object().member("ranks", 4).key("busy").array().ticks(busy, unit).close().close();   // {"ranks": 4, "busy": [1.5]}
///
/// REQUIRES: a key in front of each value of an object and of no other; as many close() as object() and array().
class JsonWriter {
 public:
  explicit JsonWriter(TextWriter& out, const JsonStyle& style = kReportStyle) : out_(out), style_(style) {}

  JsonWriter& object() { return open('{', '}'); }
  JsonWriter& array() { return open('[', ']'); }
  /// Closes the container that was opened last.
  JsonWriter& close() {
    if (line_ >= 0)
      end_line(line_);
    else if (!first_ && level() <= style_.closing)
      end_line(indent(level() - 1));
    out_ << open_.back();
    open_.pop_back();
    first_ = false;
    return *this;
  }
  /// The same, on a line of its own indented by `blanks` unless nothing is inside.
  JsonWriter& close(int blanks) {
    if (!first_) line_ = blanks;
    return close();
  }

  JsonWriter& key(std::string_view name) {
    separate();
    spell(name);
    out_ << (style_.blanks || level() <= style_.lines ? std::string_view(": ") : std::string_view(":"));
    keyed_ = true;
    return *this;
  }
  /// Begins a line, indented by `blanks`, for what is written next: an entry of the innermost container, or its end.
  JsonWriter& line(int blanks) {
    line_ = blanks;
    return *this;
  }

  JsonWriter& null() { return raw("null"); }
  JsonWriter& text(std::string_view text) {
    begin_value();
    spell(text);
    return *this;
  }
  /// Writes a text that is JSON already.
  JsonWriter& raw(std::string_view json) {
    begin_value();
    out_ << json;
    return *this;
  }
  template <std::integral Integer>
  JsonWriter& number(Integer number) {
    begin_value();
    out_ << number;
    return *this;
  }
  /// The shortest text that reads back as the same double; null for numbers that are not finite.
  JsonWriter& number(double number);
  JsonWriter& ticks(Ticks ticks, TimeUnit unit) {
    begin_value();
    out_.ticks(ticks, unit);
    return *this;
  }
  /// An op or an action, in quotes.
  template <class Named>
  requires(std::same_as<Named, Op> || std::same_as<Named, Action>) JsonWriter& quoted(Named named) {
    begin_value();
    out_ << '"' << named << '"';
    return *this;
  }

  JsonWriter& value(bool value) { return raw(value ? "true" : "false"); }
  template <std::integral Integer>
  requires(!std::same_as<Integer, bool> && !std::same_as<Integer, char>) JsonWriter& value(Integer value) {
    return number(value);
  }
  JsonWriter& value(double value) { return number(value); }
  JsonWriter& value(std::string_view value) { return text(value); }
  JsonWriter& value(const std::string& value) { return text(value); }
  JsonWriter& value(const char* value) { return text(value); }
  /// A tree that was read; in the window's spelling its numbers are spelt anew, else they stay as written.
  JsonWriter& value(const Value& value);
  template <class Entry>
  JsonWriter& value(const std::optional<Entry>& entry) {
    return entry ? value(*entry) : null();
  }
  /// An object, its keys sorted.
  template <class Name, class Entry>
  JsonWriter& value(const std::map<Name, Entry>& entries) {
    object();
    for (const auto& [name, entry] : entries) member(name, entry);
    return close();
  }
  /// An array.
  template <class List>
  requires requires(const List& list) {
    list.begin();
    list.size();
    requires !std::convertible_to<const List&, std::string_view>;
  }
  JsonWriter& value(const List& list) {
    array();
    for (const auto& entry : list) value(entry);
    return close();
  }
  template <class Entry>
  JsonWriter& member(std::string_view name, const Entry& entry) {
    return key(name).value(entry);
  }

 private:
  [[nodiscard]] int level() const { return static_cast<int>(open_.size()); }
  [[nodiscard]] int indent(int level) const { return 2 * level - style_.left_out; }

  JsonWriter& open(char begin, char end) {
    begin_value();
    out_ << begin;
    open_ += end;
    first_ = true;
    return *this;
  }
  void begin_value() {
    if (!keyed_ && !open_.empty()) separate();
    keyed_ = false;
  }
  /// Writes the separator between an entry and the text before it.
  void separate() {
    if (!first_) out_ << ',';
    if (line_ >= 0)
      end_line(line_);
    else if (level() <= style_.lines)
      end_line(indent(level()));
    else if (!first_ && style_.blanks)
      out_ << ' ';
    first_ = false;
  }
  void end_line(int blanks) {
    out_ << '\n';
    for (int i = 0; i < blanks; ++i) out_ << ' ';
    line_ = -1;
  }
  void spell(std::string_view text) { out_.quoted(text, style_.spelling); }

  TextWriter& out_;
  JsonStyle style_;
  std::string open_;    // the brackets that close the open containers
  bool first_ = true;   // no entry yet in the innermost container
  bool keyed_ = false;  // a key waits for its value
  int line_ = -1;       // blanks that line() asked for
};

/// The text that `write(JsonWriter&)` writes.
template <class Write>
[[nodiscard]] std::string written_json(const JsonStyle& style, const Write& write) {
  std::ostringstream stream;
  TextWriter out(stream);
  JsonWriter json(out, style);
  write(json);
  out.flush();
  return stream.str();
}

/// Room for a number of JsonSpelling::Window.
inline constexpr std::size_t kMaxWindowNumber = 32;
/// Writes a finite double so that it shows that it is one: 1.0, 0.25, 1e+20. Returns the end.
char* write_window_number(char* out, double value);

}  // namespace pipeloom::io
