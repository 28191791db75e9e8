// Document::set: edits from the command line on top of a file.

#include <fmt/format.h>

#include <charconv>

#include "sim/base/printable.hpp"
#include "sim/io/json/json_text.hpp"
#include "sim/io/json/json_value.hpp"

namespace pipeloom::io {
namespace {

std::vector<std::string_view> path_parts(std::string_view path, std::string_view source) {
  std::vector<std::string_view> parts;
  for (std::string_view rest = path;;) {
    const auto dot = rest.find('.');
    parts.push_back(rest.substr(0, dot));
    if (parts.back().empty() || parts.size() > kMaxDocumentDepth)
      throw InputError(
          Where{std::string(source)},
          fmt::format("'{}' is no path; write keys joined by dots, such as costs.forward or costs.backward.3",
                      shortened(path, 80)));
    if (dot == std::string_view::npos) return parts;
    rest.remove_prefix(dot + 1);
  }
}

std::size_t index_in(const Value& array, std::string_view part, std::string_view source) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
  if (error != std::errc{} || end != part.data() + part.size() || index >= array.items().size())
    throw InputError(
        Where{std::string(source)},
        fmt::format("'{}' is no place in an array of {}; give an index from 0 to {}", shortened(part, 40),
                    array.items().size(), static_cast<long>(array.items().size()) - 1));
  return index;
}

/// `text` as JSON, or as a string if it is none. Every place inside becomes `source`.
Value value_of(std::string_view text, const std::string& source) {
  try {
    return Document::parse(text, source).root();
  } catch (const InputError&) {
    // Not JSON: a bare word such as 1f1b.
    std::string quoted;
    append_json_string(quoted, text);
    return Document::parse(quoted, source).root();
  }
}

}  // namespace

Document::Document() {
  root_.kind_ = ValueKind::Object;
}

void Document::set(std::string_view path, std::string_view text, std::string_view source) {
  Value value = value_of(text, std::string(source));
  // The option has no lines of its own.
  value.line_ = 0;
  value.column_ = 0;
  set(path, value, source);
}

void Document::set(std::string_view path, const Value& value, std::string_view source) {
  Value* at = &root_;
  for (const std::string_view part : path_parts(path, source)) {
    if (at->kind_ == ValueKind::Array) {
      at = &at->items_[index_in(*at, part, source)];
      continue;
    }
    if (at->kind_ == ValueKind::Null) {
      at->kind_ = ValueKind::Object;
      at->source_ = std::make_shared<const std::string>(source);
    }
    if (at->kind_ != ValueKind::Object)
      throw InputError(Where{std::string(source)},
                       fmt::format("cannot set '{}' inside {}; only objects and arrays have parts",
                                   shortened(part, 40), at->described()));
    std::size_t i = 0;
    while (i < at->keys_.size() && at->keys_[i].name != part) ++i;
    if (i == at->keys_.size()) {
      at->keys_.push_back({std::string(part), 0, 0});
      at->items_.emplace_back();
    }
    at = &at->items_[i];
  }
  *at = value;
}

void Document::set_option(std::string_view assignment) {
  const auto equals = assignment.find('=');
  if (equals == std::string_view::npos)
    throw InputError(Where{"--set"},
                     fmt::format("'{}' has no '='; write PATH=VALUE, such as costs.forward=1.5",
                                 shortened(assignment, 80)));
  const auto path = assignment.substr(0, equals);
  set(path, assignment.substr(equals + 1), fmt::format("--set {}", shortened(path, 80)));
}

}  // namespace pipeloom::io
