#include "gui/model/session/script.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/session/command.hpp"
#include "gui/model/session/script_words.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/json/json_value.hpp"

namespace pipeloom::gui {
namespace {

std::optional<ScriptTarget> parse_point(const std::string& text) {
  ScriptTarget target{text, true, 0, 0};
  const char* const end = text.data() + text.size();
  const auto [comma, bad_x] = std::from_chars(text.data(), end, target.x);
  if (bad_x != std::errc{} || comma == end || *comma != ',') return std::nullopt;
  const auto [last, bad_y] = std::from_chars(comma + 1, end, target.y);
  if (bad_y != std::errc{} || last != end || !std::isfinite(target.x) || !std::isfinite(target.y))
    return std::nullopt;
  return target;
}

ScriptTarget read_target(ScriptWords& words) {
  const Where where = words.here();
  const std::string& text =
      words.take("a place such as 640,300, op:2/0F7, gap:0/1, rank:2, legend:F or item:params/ranks").text;
  if (auto point = parse_point(text)) return *point;
  for (const std::string_view kind : {"op:", "gap:", "rank:", "legend:", "item:"})
    if (text.size() > kind.size() && text.compare(0, kind.size(), kind) == 0) return {text, false, 0, 0};
  refuse(where, "found '" + shortened(text, 60) +
                    "'; a place is X,Y, op:RANK/OP, gap:RANK/N, rank:RANK, legend:KIND or item:PANEL/NAME");
}

/// "ctrl+shift": the keys that are held with the button.
std::optional<Chord> parse_held(std::string_view text) {
  Chord held;
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find('+'));
    if (name == "ctrl")
      held.ctrl = true;
    else if (name == "shift")
      held.shift = true;
    else if (name == "alt")
      held.alt = true;
    else
      return std::nullopt;
    text.remove_prefix(std::min(name.size() + 1, text.size()));
  }
  return held;
}

void read_held_and_button(ScriptWords& words, ScriptCommand& command) {
  while (const ScriptWord* word = words.peek()) {
    constexpr std::array<std::string_view, kMouseButtons> kButtons = {"left", "right", "middle"};
    const auto button = std::find(kButtons.begin(), kButtons.end(), word->text);
    if (button != kButtons.end())
      command.button = static_cast<MouseButton>(button - kButtons.begin());
    else if (const auto held = parse_held(word->text))
      command.chord = *held;
    else
      refuse(words.here(), "found '" + shortened(word->text, 40) +
                               "'; allowed are ctrl, shift, alt (joined by +), left, right and middle");
    words.take("");
  }
}

void read_word(ScriptWords& words, ScriptCommand& command) {
  command.word = words.rest();
  if (command.word.empty()) refuse(words.here(), "found the end of the line; wanted is one more word");
}

void read_expect_error(ScriptWords& words, ScriptCommand& command) {
  command.word = words.rest();
}

void read_set(ScriptWords& words, ScriptCommand& command) {
  command.word = words.take("a key of the configuration, such as ranks or costs.forward").text;
  command.value = words.rest();
  if (command.value.empty())
    refuse(words.here(), "found the end of the line; wanted is the value of " + command.word);
}

void read_do(ScriptWords& words, ScriptCommand& command) {
  const Where where = words.here();
  command.word = words.take("a command, such as zoom-in").text;
  command.value = words.rest();
  if (find_command(command.word) != nullptr) return;
  std::vector<std::string> names;
  for (const Command& known : all_commands()) names.push_back(known.id);
  throw InputError::unknown_name(where, "command", command.word, names);
}

void read_key(ScriptWords& words, ScriptCommand& command) {
  const Where where = words.here();
  const std::string& text = words.take("a key such as f or ctrl+shift+p").text;
  const auto chord = parse_chord(text);
  if (!chord)
    refuse(where,
           "found '" + shortened(text, 40) + "', which names no key; write f, ctrl+shift+p, escape, f1 or ?");
  command.chord = *chord;
  command.number = words.empty() ? 1 : words.whole("a number of frames", 1, 10000);
  words.expect_end();
}

void read_targets(ScriptWords& words, ScriptCommand& command) {
  const std::size_t count = command.verb == ScriptVerb::Drag ? 2 : 1;
  while (command.targets.size() < count) command.targets.push_back(read_target(words));
  read_held_and_button(words, command);
}

void read_wheel(ScriptWords& words, ScriptCommand& command) {
  command.number = words.number("a number of steps, up is positive");
  command.targets.push_back(read_target(words));
  read_held_and_button(words, command);
}

void read_right_click(ScriptWords& words, ScriptCommand& command) {
  read_targets(words, command);
  command.button = MouseButton::Right;
}

constexpr double kLongestWait = 600000;

void read_wait(ScriptWords& words, ScriptCommand& command) {
  const ScriptWord* word = words.peek();
  if (word != nullptr && word->text == "idle") {
    words.take("");
    command.number =
        words.empty() ? 10000 : words.whole("a number of milliseconds", 0, static_cast<int>(kLongestWait));
  } else {
    command.verb = ScriptVerb::WaitMs;
    command.number = words.whole("`idle` or a number of milliseconds", 0, static_cast<int>(kLongestWait));
  }
  words.expect_end();
}

struct ComparisonName {
  std::string_view name;
  Comparison comparison;
};
constexpr std::array kComparisons = {ComparisonName{"==", Comparison::Equal},
                                     ComparisonName{"!=", Comparison::Unequal},
                                     ComparisonName{"<", Comparison::Less},
                                     ComparisonName{"<=", Comparison::LessOrEqual},
                                     ComparisonName{">", Comparison::Greater},
                                     ComparisonName{">=", Comparison::GreaterOrEqual},
                                     ComparisonName{"contains", Comparison::Contains},
                                     ComparisonName{"size", Comparison::Size},
                                     ComparisonName{"exists", Comparison::Exists},
                                     ComparisonName{"absent", Comparison::Absent}};

void read_expect(ScriptWords& words, ScriptCommand& command) {
  Where where = words.here();
  command.word = words.take("a JSON pointer such as /runs/0/ranks").text;
  if (!pointer_keys(command.word))
    refuse(where, "found '" + shortened(command.word, 60) +
                      "'; a JSON pointer is /key/0/key, with ~1 for a slash and ~0 for a ~ in a key");
  where = words.here();
  const std::string& name = words.take("a comparison: == != < <= > >= contains size exists absent").text;
  const auto known = std::find_if(kComparisons.begin(), kComparisons.end(),
                                  [&](const ComparisonName& c) { return c.name == name; });
  if (known == kComparisons.end())
    refuse(where,
           "found '" + shortened(name, 40) + "'; allowed are == != < <= > >= contains size exists absent");
  command.comparison = known->comparison;
  const bool alone = command.comparison == Comparison::Exists || command.comparison == Comparison::Absent;
  if (!alone && words.empty()) refuse(words.here(), "found the end of the line; wanted is a value");
  if (command.comparison == Comparison::Size)
    command.value = std::to_string(words.whole("a count", 0, 1 << 30));
  else if (!alone)
    command.value = words.raw_rest();
  words.expect_end();
}

void read_size(ScriptWords& words, ScriptCommand& command) {
  command.width = words.whole("a width in pixels", 320, 16384);
  command.height = words.whole("a height in pixels", 200, 16384);
  words.expect_end();
}

void read_scale(ScriptWords& words, ScriptCommand& command) {
  const Where where = words.here();
  command.number = words.number("a factor");
  if (!(command.number >= 0.5 && command.number <= 4))
    refuse(where, "found a scale out of range; allowed is 0.5 to 4");
  words.expect_end();
}

void read_theme(ScriptWords& words, ScriptCommand& command) {
  const Where where = words.here();
  command.word = words.take("dark or light").text;
  if (command.word != "dark" && command.word != "light")
    throw InputError::unknown_name(where, "theme", command.word, {"dark", "light"});
  words.expect_end();
}

void read_nothing(ScriptWords& words, ScriptCommand&) {
  words.expect_end();
}

struct VerbName {
  std::string_view name;
  ScriptVerb verb;
  void (*read)(ScriptWords&, ScriptCommand&);
};
constexpr std::array kVerbs = {VerbName{"open", ScriptVerb::Open, read_word},
                               VerbName{"set", ScriptVerb::Set, read_set},
                               VerbName{"do", ScriptVerb::Do, read_do},
                               VerbName{"key", ScriptVerb::Key, read_key},
                               VerbName{"type", ScriptVerb::Type, read_word},
                               VerbName{"move", ScriptVerb::Move, read_targets},
                               VerbName{"click", ScriptVerb::Click, read_targets},
                               VerbName{"right-click", ScriptVerb::Click, read_right_click},
                               VerbName{"double", ScriptVerb::Double, read_targets},
                               VerbName{"drag", ScriptVerb::Drag, read_targets},
                               VerbName{"wheel", ScriptVerb::Wheel, read_wheel},
                               VerbName{"wait", ScriptVerb::WaitIdle, read_wait},
                               VerbName{"expect", ScriptVerb::Expect, read_expect},
                               VerbName{"expect-error", ScriptVerb::ExpectError, read_expect_error},
                               VerbName{"screenshot", ScriptVerb::Screenshot, read_word},
                               VerbName{"state", ScriptVerb::State, read_word},
                               VerbName{"size", ScriptVerb::Size, read_size},
                               VerbName{"scale", ScriptVerb::Scale, read_scale},
                               VerbName{"theme", ScriptVerb::Theme, read_theme},
                               VerbName{"quit", ScriptVerb::Quit, read_nothing}};

ScriptCommand read_command(ScriptWords& words) {
  ScriptCommand command;
  command.where = words.here();
  const std::string& name = words.take("a command").text;
  const auto known =
      std::find_if(kVerbs.begin(), kVerbs.end(), [&](const VerbName& v) { return v.name == name; });
  if (known == kVerbs.end()) {
    std::vector<std::string> names;
    for (const VerbName& verb : kVerbs) names.emplace_back(verb.name);
    throw InputError::unknown_name(command.where, "script command", name, names);
  }
  command.verb = known->verb;
  known->read(words, command);
  return command;
}

}  // namespace

std::string_view name_of(Comparison comparison) {
  return kComparisons[static_cast<std::size_t>(comparison)].name;
}

Script parse_script(std::string_view text, const std::string& file) {
  Script script;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    ScriptWords words(text.substr(0, end), Where{file, number, 0});
    if (!words.empty()) script.push_back(read_command(words));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return script;
}

namespace {

using io::Value;
using io::ValueKind;

/// JSON where it reads as such, else the text as it is: `expect /theme == dark`.
Value value_of(const std::string& text) {
  io::Document document;
  document.set("value", text, "expect");
  return document.root().items().front();
}

bool both(ValueKind kind, const Value& a, const Value& b) {
  return a.is(kind) && b.is(kind);
}

bool same(const Value& a, const Value& b) {
  if (a.kind() != b.kind() || a.items().size() != b.items().size()) return false;
  if (a.is(ValueKind::Number)) return a.text() == b.text() || a.number() == b.number();
  if (a.text() != b.text()) return false;
  for (std::size_t i = 0; i < a.items().size(); ++i) {
    const Value* other = a.is(ValueKind::Object) ? b.find(a.keys()[i].name) : &b.items()[i];
    if (other == nullptr || !same(a.items()[i], *other)) return false;
  }
  return true;
}

bool contains(const Value& found, const Value& wanted) {
  const bool is_text = wanted.is(ValueKind::String);
  if (found.is(ValueKind::String))
    return found.text().find(is_text ? wanted.text() : wanted.canonical_text()) != std::string::npos;
  if (found.is(ValueKind::Object)) return is_text && found.find(wanted.text()) != nullptr;
  const auto& entries = found.items();
  return std::any_of(entries.begin(), entries.end(), [&](const Value& entry) {
    return same(entry, wanted) || (both(ValueKind::String, entry, wanted) && contains(entry, wanted));
  });
}

/// Negative, 0 or positive; nothing for pairs that have no order, which all but numbers and texts are.
std::optional<int> order_of(const Value& a, const Value& b) {
  if (both(ValueKind::String, a, b)) return a.text().compare(b.text());
  if (!both(ValueKind::Number, a, b)) return std::nullopt;
  return a.number() < b.number() ? -1 : a.number() > b.number() ? 1 : 0;
}

bool holds(const Value& found, Comparison comparison, const Value& wanted) {
  const std::optional<int> order = order_of(found, wanted);
  switch (comparison) {
    case Comparison::Equal:
      return same(found, wanted);
    case Comparison::Unequal:
      return !same(found, wanted);
    case Comparison::Less:
      return order && *order < 0;
    case Comparison::LessOrEqual:
      return order && *order <= 0;
    case Comparison::Greater:
      return order && *order > 0;
    case Comparison::GreaterOrEqual:
      return order && *order >= 0;
    case Comparison::Contains:
      return contains(found, wanted);
    case Comparison::Size:
      return (found.is(ValueKind::Array) || found.is(ValueKind::Object)) &&
             std::to_string(found.items().size()) == wanted.text();
    case Comparison::Exists:
      return true;
    case Comparison::Absent:
      return false;
  }
  return false;
}

/// Null if there is none.
const Value* entry_of(const Value& array, const std::string& index) {
  const auto i = number_in<std::size_t>(index);
  const bool is_index = i && std::to_string(*i) == index;
  return is_index && *i < array.items().size() ? &array.items()[*i] : nullptr;
}

/// Null if there is none.
const Value* value_at(const Value& all, const std::vector<std::string>& keys) {
  const Value* at = &all;
  for (const std::string& key : keys) {
    at = at->is(ValueKind::Array) ? entry_of(*at, key) : at->find(key);
    if (at == nullptr) return nullptr;
  }
  return at;
}

}  // namespace

std::optional<std::vector<std::string>> pointer_keys(std::string_view pointer) {
  std::vector<std::string> keys;
  if (!pointer.empty() && pointer.front() != '/') return std::nullopt;
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] == '/') {
      keys.emplace_back();
    } else if (pointer[i] != '~') {
      keys.back() += pointer[i];
    } else {
      const char escaped = ++i < pointer.size() ? pointer[i] : ' ';
      if (escaped != '0' && escaped != '1') return std::nullopt;
      keys.back() += escaped == '0' ? '~' : '/';
    }
  }
  return keys;
}

std::string check_expectation(const ScriptCommand& expectation, const std::string& state) {
  const std::optional<Value> all = io::read_json(state);
  const std::string wanted = "wanted " + std::string(name_of(expectation.comparison)) +
                             (expectation.value.empty() ? "" : " " + expectation.value);
  const std::string name = expectation.word.empty() ? "the state" : expectation.word;
  if (!all) return "the state is nested too deep to look at; " + wanted;
  const Value* const found = value_at(*all, pointer_keys(expectation.word).value());
  if (found == nullptr) {
    if (expectation.comparison == Comparison::Absent) return "";
    return name + " is not there; " + wanted;
  }
  if (holds(*found, expectation.comparison, value_of(expectation.value))) return "";
  return name + " is " + shortened(found->canonical_text(), 80) + "; " + wanted;
}

}  // namespace pipeloom::gui
