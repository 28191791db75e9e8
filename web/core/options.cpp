#include "web/core/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/base/text_tools.hpp"

namespace pipeloom::web {
namespace {

using io::ValueKind;

[[noreturn]] void refuse(const io::Value& value, const char* name, const char* allowed) {
  throw InputError(value.where(), fmt::format("{} is {}; allowed is {}", name, value.described(), allowed));
}

}  // namespace

Options::Options(std::string_view text) {
  if (text.empty()) return;
  document_ = io::Document::parse(text, "options");
  if (!document_.root().is(ValueKind::Object)) refuse(document_.root(), "the whole", "an object");
}

const io::Value* Options::find(const char* name) {
  asked_.emplace_back(name);
  const io::Value* const found = document_.root().find(name);
  return found == nullptr || found->is(ValueKind::Null) ? nullptr : found;
}

std::optional<std::string> Options::text(const char* name) {
  const io::Value* const found = find(name);
  if (found == nullptr) return std::nullopt;
  if (!found->is(ValueKind::String)) refuse(*found, name, "a text");
  return found->text();
}

std::optional<double> Options::number(const char* name) {
  const io::Value* const found = find(name);
  if (found == nullptr) return std::nullopt;
  if (!found->is(ValueKind::Number)) refuse(*found, name, "a number");
  return found->number();
}

bool Options::flag(const char* name) {
  const io::Value* const found = find(name);
  if (found == nullptr) return false;
  if (!found->is(ValueKind::Bool)) refuse(*found, name, "true or false");
  return found->text() == "true";
}

std::optional<std::string> Options::spelling(const char* name) {
  const io::Value* const found = find(name);
  if (found == nullptr) return std::nullopt;
  if (!found->is(ValueKind::Number) && !found->is(ValueKind::String))
    refuse(*found, name, "a number or a text");
  return found->text();
}

void Options::done() const {
  const io::Value& root = document_.root();
  for (std::size_t i = 0; i < root.keys().size(); ++i)
    if (std::ranges::find(asked_, root.keys()[i].name) == asked_.end())
      throw InputError(root.where_key(i),
                       fmt::format("unknown option '{}'; allowed are {}", shortened(root.keys()[i].name, 64),
                                   fmt::join(asked_, ", ")));
}

}  // namespace pipeloom::web
