// What a script expects of the state dump.

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

#include "gui/model/session/script.hpp"

namespace pipeloom::gui {
namespace {

using Wanted = nlohmann::json;

/// JSON where it reads as such, else the text as it stands: `expect /theme == dark`.
Wanted value_of(const std::string& text) {
  Wanted value = Wanted::parse(text, nullptr, false);
  return value.is_discarded() ? Wanted(text) : value;
}

bool contains(const Wanted& found, const Wanted& wanted) {
  if (found.is_string())
    return found.get_ref<const std::string&>().find(wanted.is_string() ? wanted.get<std::string>()
                                                                       : wanted.dump()) != std::string::npos;
  if (found.is_object()) return wanted.is_string() && found.contains(wanted.get<std::string>());
  return found.is_array() && std::any_of(found.begin(), found.end(), [&](const Wanted& entry) {
           return entry == wanted || (entry.is_string() && wanted.is_string() && contains(entry, wanted));
         });
}

/// Numbers and texts have an order; other pairs have none.
bool ordered(const Wanted& a, const Wanted& b) {
  return (a.is_number() && b.is_number()) || (a.is_string() && b.is_string());
}

bool holds(const Wanted& found, Comparison comparison, const Wanted& wanted) {
  switch (comparison) {
    case Comparison::Equal:
      return found == wanted;
    case Comparison::Unequal:
      return found != wanted;
    case Comparison::Less:
      return ordered(found, wanted) && found < wanted;
    case Comparison::LessOrEqual:
      return ordered(found, wanted) && found <= wanted;
    case Comparison::Greater:
      return ordered(found, wanted) && found > wanted;
    case Comparison::GreaterOrEqual:
      return ordered(found, wanted) && found >= wanted;
    case Comparison::Contains:
      return contains(found, wanted);
    case Comparison::Size:
      return (found.is_array() || found.is_object()) && found.size() == wanted.get<std::size_t>();
    case Comparison::Exists:
      return true;
    case Comparison::Absent:
      return false;
  }
  return false;
}

/// Null if there is none; nor is there one at an index that is no number of this machine.
const Wanted* entry_at(const Wanted& all, const Wanted::json_pointer& pointer) {
  try {
    return all.contains(pointer) ? &all.at(pointer) : nullptr;
  } catch (const Wanted::exception&) {
    return nullptr;
  }
}

}  // namespace

std::string check_expectation(const ScriptCommand& expectation, const std::string& state) {
  const Wanted all = Wanted::parse(state);
  const Wanted::json_pointer pointer(expectation.word);
  const std::string wanted = "wanted " + std::string(name_of(expectation.comparison)) +
                             (expectation.value.empty() ? "" : " " + expectation.value);
  const std::string name = expectation.word.empty() ? "the state" : expectation.word;
  const Wanted* const there = entry_at(all, pointer);
  if (there == nullptr) {
    if (expectation.comparison == Comparison::Absent) return "";
    return name + " is not there; " + wanted;
  }
  const Wanted& found = *there;
  if (holds(found, expectation.comparison, value_of(expectation.value))) return "";
  return name + " is " + shortened(found.dump(), 80) + "; " + wanted;
}

}  // namespace pipeloom::gui
