#include "gui/model/session/script_words.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "gui/model/session/command.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/json/json_value.hpp"

namespace pipeloom::gui {

void refuse(const Where& where, const std::string& message) {
  throw InputError(where, message);
}

ScriptWords::ScriptWords(std::string_view line, Where where) : where_(std::move(where)), line_(line) {
  split();
}

Where ScriptWords::here() const {
  Where where = where_;
  where.column = empty() ? static_cast<int>(line_.size()) + 1 : words_[next_].column;
  return where;
}

const ScriptWord& ScriptWords::take(std::string_view what) {
  if (empty()) refuse(here(), "found the end of the line; wanted is " + std::string(what));
  return words_[next_++];
}

std::string ScriptWords::rest() {
  if (empty()) return "";
  const std::size_t first = std::exchange(next_, words_.size());
  if (first + 1 == words_.size() && words_[first].quoted) return words_[first].text;
  return raw_from(first);
}

std::string ScriptWords::raw_rest() {
  if (empty()) return "";
  return raw_from(std::exchange(next_, words_.size()));
}

void ScriptWords::expect_end() const {
  if (!empty())
    refuse(here(), "found '" + shortened(words_[next_].text, 40) + "'; the command ends before it");
}

double ScriptWords::number(std::string_view what) {
  const Where where = here();
  const ScriptWord& word = take(what);
  const auto value = number_in<double>(word.text);
  if (!value || !std::isfinite(*value))
    refuse(where, "found '" + shortened(word.text, 40) + "'; wanted is " + std::string(what));
  return *value;
}

int ScriptWords::whole(std::string_view what, int least, int most) {
  const Where where = here();
  const double value = number(what);
  if (value < least || value > most || value != std::floor(value))
    refuse(where, "found a number that is not whole or out of range; allowed is " + std::to_string(least) +
                      " to " + std::to_string(most));
  return static_cast<int>(value);
}

void ScriptWords::split() {
  for (std::size_t at = 0; at < line_.size();) {
    if (line_[at] == ' ' || line_[at] == '\t' || line_[at] == '\r')
      ++at;
    else if (line_[at] == '#')
      line_ = line_.substr(0, at);
    else
      at = line_[at] == '"' ? split_quoted(at) : split_bare(at);
  }
}

std::size_t ScriptWords::split_bare(std::size_t at) {
  const std::size_t end = std::min(line_.find_first_of(" \t\r", at), line_.size());
  words_.push_back({std::string(line_.substr(at, end - at)), static_cast<int>(at) + 1, false});
  return end;
}

std::size_t ScriptWords::split_quoted(std::size_t at) {
  std::size_t end = at + 1;
  while (end < line_.size() && line_[end] != '"') end += line_[end] == '\\' ? 2U : 1U;
  Where where = where_;
  where.column = static_cast<int>(at) + 1;
  if (end >= line_.size()) refuse(where, "found a quote that does not end; close it with \"");
  const std::optional<io::Value> text = io::read_json(line_.substr(at, end + 1 - at));
  if (!text || !text->is(io::ValueKind::String))
    refuse(where, "found an escape that JSON does not know; allowed are \\n \\t \\\" \\\\ \\uXXXX");
  words_.push_back({text->text(), static_cast<int>(at) + 1, true});
  return end + 1;
}

std::string ScriptWords::raw_from(std::size_t word) const {
  const std::string_view text = line_.substr(static_cast<std::size_t>(words_[word].column) - 1);
  return std::string(trimmed(text));
}

}  // namespace pipeloom::gui
